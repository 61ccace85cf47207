package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// removePods asks the container runtime to stop and remove every pod. Doing it
// through the runtime takes containers, network namespaces and addresses along.
func removePods() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: remove-pods unix://SOCKET")
		os.Exit(2)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	connection, err := grpc.NewClient(os.Args[1], grpc.WithTransportCredentials(insecure.NewCredentials()))
	stopIf(err)
	runtime := cri.NewRuntimeServiceClient(connection)
	pods, err := runtime.ListPodSandbox(ctx, &cri.ListPodSandboxRequest{})
	stopIf(err)
	left := 0
	for _, pod := range pods.Items {
		if err := removePod(ctx, runtime, pod.Id); err != nil {
			fmt.Fprintf(os.Stderr, "%s/%s stays: %v\n", pod.Metadata.Namespace, pod.Metadata.Name, err)
			left++
		}
	}
	if left > 0 {
		os.Exit(1)
	}
}

func removePod(ctx context.Context, runtime cri.RuntimeServiceClient, id string) error {
	if _, err := runtime.StopPodSandbox(ctx, &cri.StopPodSandboxRequest{PodSandboxId: id}); err != nil {
		return err
	}
	_, err := runtime.RemovePodSandbox(ctx, &cri.RemovePodSandboxRequest{PodSandboxId: id})
	return err
}

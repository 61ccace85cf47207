package main

import (
	"context"
	"flag"
	"log"
	"os"
	"path/filepath"
	"time"

	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

const (
	provisioner   = "tidelog.local/directory"
	provisionedBy = "pv.kubernetes.io/provisioned-by"
	selectedNode  = "volume.kubernetes.io/selected-node"
	lookEvery     = 250 * time.Millisecond
)

// directories turns claims of our storage class into directories of this node.
// It compares everything with everything a few times a second, out of caches:
// there is no event whose loss could leave a claim without its volume.
type directories struct {
	root    string
	client  kubernetes.Interface
	claims  cache.Store
	volumes cache.Store
}

func provideVolumes() {
	kubeconfig := flag.String("kubeconfig", "", "who we are for the API server")
	root := flag.String("root", "", "the directory that gets a directory per volume")
	flag.Parse()
	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	stopIf(err)
	client, err := kubernetes.NewForConfig(config)
	stopIf(err)
	factory := informers.NewSharedInformerFactory(client, 0)
	d := &directories{
		root:    *root,
		client:  client,
		claims:  factory.Core().V1().PersistentVolumeClaims().Informer().GetStore(),
		volumes: factory.Core().V1().PersistentVolumes().Informer().GetStore(),
	}
	forever := context.Background().Done()
	factory.Start(forever)
	factory.WaitForCacheSync(forever)
	for {
		d.look()
		time.Sleep(lookEvery)
	}
}

func (d *directories) look() {
	for _, item := range d.claims.List() {
		claim := item.(*core.PersistentVolumeClaim)
		if d.waits(claim) {
			report(d.create(claim), "volume for "+claim.Namespace+"/"+claim.Name)
		}
	}
	for _, item := range d.volumes.List() {
		volume := item.(*core.PersistentVolume)
		if released(volume) {
			report(d.remove(volume), "removal of "+volume.Name)
		}
	}
}

func (d *directories) waits(claim *core.PersistentVolumeClaim) bool {
	if claim.Spec.VolumeName != "" || claim.DeletionTimestamp != nil || claim.Annotations[selectedNode] == "" {
		return false
	}
	if claim.Annotations["volume.kubernetes.io/storage-provisioner"] != provisioner {
		return false
	}
	_, made, _ := d.volumes.GetByKey(volumeName(claim))
	return !made
}

func (d *directories) create(claim *core.PersistentVolumeClaim) error {
	path := filepath.Join(d.root, volumeName(claim))
	if err := os.MkdirAll(path, 0o777); err != nil {
		return err
	}
	if err := os.Chmod(path, 0o777); err != nil { // containers run as any user, and our umask may differ
		return err
	}
	volume := &core.PersistentVolume{
		ObjectMeta: meta.ObjectMeta{Name: volumeName(claim), Annotations: map[string]string{provisionedBy: provisioner}},
		Spec: core.PersistentVolumeSpec{
			AccessModes:                   claim.Spec.AccessModes,
			Capacity:                      claim.Spec.Resources.Requests,
			ClaimRef:                      &core.ObjectReference{APIVersion: "v1", Kind: "PersistentVolumeClaim", Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID},
			NodeAffinity:                  onlyOn(claim.Annotations[selectedNode]),
			PersistentVolumeReclaimPolicy: core.PersistentVolumeReclaimDelete,
			PersistentVolumeSource:        core.PersistentVolumeSource{Local: &core.LocalVolumeSource{Path: path}},
			StorageClassName:              *claim.Spec.StorageClassName,
			VolumeMode:                    claim.Spec.VolumeMode,
		},
	}
	_, err := d.client.CoreV1().PersistentVolumes().Create(context.Background(), volume, meta.CreateOptions{})
	if errors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

func (d *directories) remove(volume *core.PersistentVolume) error {
	if err := os.RemoveAll(filepath.Join(d.root, volume.Name)); err != nil {
		return err
	}
	err := d.client.CoreV1().PersistentVolumes().Delete(context.Background(), volume.Name, meta.DeleteOptions{})
	if errors.IsNotFound(err) {
		return nil
	}
	return err
}

func released(volume *core.PersistentVolume) bool {
	return volume.Annotations[provisionedBy] == provisioner && volume.Status.Phase == core.VolumeReleased
}

func volumeName(claim *core.PersistentVolumeClaim) string { return "pvc-" + string(claim.UID) }

func onlyOn(node string) *core.VolumeNodeAffinity {
	here := core.NodeSelectorRequirement{Key: core.LabelHostname, Operator: core.NodeSelectorOpIn, Values: []string{node}}
	terms := []core.NodeSelectorTerm{{MatchExpressions: []core.NodeSelectorRequirement{here}}}
	return &core.VolumeNodeAffinity{Required: &core.NodeSelector{NodeSelectorTerms: terms}}
}

func report(err error, what string) {
	if err != nil {
		log.Printf("%s: %v", what, err)
	}
}

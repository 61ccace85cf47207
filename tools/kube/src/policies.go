package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"hash/fnv"
	"log"
	"os/exec"
	"slices"
	"sort"
	"strings"
	"time"

	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

// policyChain is where every packet that is forwarded begins its way.
const policyChain = "TIDELOG-POLICY"

// policies makes firewall rules of network policies, for the pods of this one
// node. Packets between a pod and the node itself are not forwarded, so probes
// and the node's DNS server need no rule. What is not allowed is refused rather
// than dropped: whoever asks too early, before his address is known here, may
// ask again at once.
type policies struct {
	pods       cache.Store
	namespaces cache.Store
	policies   cache.Store
	applied    string
	chains     []string // that are in the kernel
	declared   []string // by the rules computed last
}

func enforcePolicies() {
	kubeconfig := flag.String("kubeconfig", "", "who we are for the API server")
	flag.Parse()
	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	stopIf(err)
	client, err := kubernetes.NewForConfig(config)
	stopIf(err)
	factory := informers.NewSharedInformerFactory(client, 0)
	p := &policies{
		pods:       factory.Core().V1().Pods().Informer().GetStore(),
		namespaces: factory.Core().V1().Namespaces().Informer().GetStore(),
		policies:   factory.Networking().V1().NetworkPolicies().Informer().GetStore(),
	}
	forever := context.Background().Done()
	factory.Start(forever)
	factory.WaitForCacheSync(forever)
	for {
		report(p.apply(), "network policies")
		time.Sleep(lookEvery / 5)
	}
}

// apply hands the rules to the kernel in one piece, if they have changed.
func (p *policies) apply() error {
	rules := p.rules()
	if rules == p.applied {
		return nil
	}
	if out, err := run("iptables-restore", rules, "--noflush", "--wait"); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	p.applied, p.chains = rules, p.declared
	log.Printf("%d lines of rules", strings.Count(rules, "\n"))
	return comeFirst()
}

// comeFirst puts the jump to our chain before those of kube-proxy, which accept
// some packets for good.
func comeFirst() error {
	listed, err := run("iptables", "", "--wait", "-S", "FORWARD")
	if err != nil {
		return err
	}
	lines := strings.Split(listed, "\n")
	if len(lines) > 1 && strings.HasSuffix(lines[1], "-j "+policyChain) {
		return nil
	}
	_, _ = run("iptables", "", "--wait", "-D", "FORWARD", "-j", policyChain)
	_, err = run("iptables", "", "--wait", "-I", "FORWARD", "-j", policyChain)
	return err
}

// rules is the whole of our chains: a packet must be allowed by the policies of
// the pod that it comes from, and by those of the pod that it goes to.
func (p *policies) rules() string {
	var declared, jumps, bodies []string
	for _, pod := range p.running() {
		for _, way := range []networking.PolicyType{networking.PolicyTypeEgress, networking.PolicyTypeIngress} {
			selecting := p.selecting(pod, way)
			if len(selecting) == 0 {
				continue
			}
			chain, side := chainOf(pod, way), "-d"
			if way == networking.PolicyTypeEgress {
				side = "-s"
			}
			declared = append(declared, chain)
			jumps = append(jumps, fmt.Sprintf("-A %s %s %s/32 -j %s", policyChain, side, pod.Status.PodIP, chain))
			for _, policy := range selecting {
				bodies = append(bodies, p.allowed(chain, pod, policy, way)...)
			}
			bodies = append(bodies, "-A "+chain+" -p tcp -j REJECT --reject-with tcp-reset", "-A "+chain+" -j REJECT")
		}
	}
	p.declared = declared
	return p.restorable(jumps, bodies)
}

// restorable is what iptables-restore reads. Naming a chain makes or empties it.
func (p *policies) restorable(jumps, bodies []string) string {
	lines := []string{"*filter", ":" + policyChain + " - [0:0]"}
	var removals []string
	for _, chain := range p.declared {
		lines = append(lines, ":"+chain+" - [0:0]")
	}
	for _, chain := range p.chains {
		if !slices.Contains(p.declared, chain) {
			lines, removals = append(lines, ":"+chain+" - [0:0]"), append(removals, "-X "+chain)
		}
	}
	lines = append(lines, "-A "+policyChain+" -m conntrack --ctstate ESTABLISHED,RELATED -j RETURN")
	lines = slices.Concat(lines, jumps, bodies, removals)
	return strings.Join(append(lines, "COMMIT", ""), "\n")
}

// allowed has a rule for everything that one policy lets pass.
func (p *policies) allowed(chain string, pod *core.Pod, policy *networking.NetworkPolicy, way networking.PolicyType) []string {
	var rules []string
	if way == networking.PolicyTypeIngress {
		for _, rule := range policy.Spec.Ingress {
			rules = append(rules, combined(chain, p.peers(rule.From, policy, "-s"), ports(rule.Ports, pod))...)
		}
		return rules
	}
	for _, rule := range policy.Spec.Egress {
		rules = append(rules, combined(chain, p.peers(rule.To, policy, "-d"), ports(rule.Ports, nil))...)
	}
	return rules
}

func combined(chain string, peers, ports []string) []string {
	var rules []string
	for _, peer := range peers {
		for _, port := range ports {
			rules = append(rules, "-A "+chain+peer+port+" -j RETURN")
		}
	}
	return rules
}

// peers is what rules say of the other side; no peer at all means everybody.
func (p *policies) peers(peers []networking.NetworkPolicyPeer, policy *networking.NetworkPolicy, side string) []string {
	if len(peers) == 0 {
		return []string{""}
	}
	var found []string
	for _, peer := range peers {
		if peer.IPBlock != nil {
			found = append(found, blocks(peer.IPBlock, side)...)
			continue
		}
		for _, pod := range p.running() {
			if p.matches(pod, peer, policy.Namespace) {
				found = append(found, fmt.Sprintf(" %s %s/32", side, pod.Status.PodIP))
			}
		}
	}
	return found
}

// blocks is a range of addresses; a range with exceptions is not allowed at
// all, which errs on the side of refusing.
func blocks(block *networking.IPBlock, side string) []string {
	if len(block.Except) > 0 || strings.Contains(block.CIDR, ":") {
		log.Printf("range %s with exceptions, or not of IPv4, is left out", block.CIDR)
		return nil
	}
	return []string{fmt.Sprintf(" %s %s", side, block.CIDR)}
}

func (p *policies) matches(pod *core.Pod, peer networking.NetworkPolicyPeer, own string) bool {
	if peer.NamespaceSelector == nil {
		return pod.Namespace == own && selects(peer.PodSelector, pod.Labels)
	}
	item, known, _ := p.namespaces.GetByKey(pod.Namespace)
	if !known || !selects(peer.NamespaceSelector, item.(*core.Namespace).Labels) {
		return false
	}
	return peer.PodSelector == nil || selects(peer.PodSelector, pod.Labels)
}

// ports is what rules say of the port. Names are those of the pod that is
// asked; where it is not known which one that will be, a name allows nothing.
func ports(wanted []networking.NetworkPolicyPort, pod *core.Pod) []string {
	if len(wanted) == 0 {
		return []string{""}
	}
	var found []string
	for _, each := range wanted {
		protocol := core.ProtocolTCP
		if each.Protocol != nil {
			protocol = *each.Protocol
		}
		rule := " -p " + strings.ToLower(string(protocol))
		if each.Port == nil {
			found = append(found, rule)
		} else if number := portNumber(*each.Port, pod); number != 0 && each.EndPort != nil {
			found = append(found, fmt.Sprintf("%s --dport %d:%d", rule, number, *each.EndPort))
		} else if number != 0 {
			found = append(found, fmt.Sprintf("%s --dport %d", rule, number))
		}
	}
	return found
}

func portNumber(port intstr.IntOrString, pod *core.Pod) int32 {
	if port.Type == intstr.Int {
		return port.IntVal
	}
	if pod != nil {
		for _, container := range pod.Spec.Containers {
			for _, each := range container.Ports {
				if each.Name == port.StrVal {
					return each.ContainerPort
				}
			}
		}
	}
	return 0
}

// running is every pod with an address of its own, always in the same order.
func (p *policies) running() []*core.Pod {
	var found []*core.Pod
	for _, item := range p.pods.List() {
		pod := item.(*core.Pod)
		ended := pod.Status.Phase == core.PodSucceeded || pod.Status.Phase == core.PodFailed
		if pod.Status.PodIP != "" && !pod.Spec.HostNetwork && !ended {
			found = append(found, pod)
		}
	}
	sort.Slice(found, func(i, j int) bool { return found[i].UID < found[j].UID })
	return found
}

func (p *policies) selecting(pod *core.Pod, way networking.PolicyType) []*networking.NetworkPolicy {
	var found []*networking.NetworkPolicy
	for _, item := range p.policies.List() {
		policy := item.(*networking.NetworkPolicy)
		if policy.Namespace != pod.Namespace || !selects(&policy.Spec.PodSelector, pod.Labels) {
			continue
		}
		for _, each := range policy.Spec.PolicyTypes { // the API server fills them in
			if each == way {
				found = append(found, policy)
			}
		}
	}
	sort.Slice(found, func(i, j int) bool { return found[i].UID < found[j].UID })
	return found
}

func selects(selector *meta.LabelSelector, of map[string]string) bool {
	found, err := meta.LabelSelectorAsSelector(selector)
	return err == nil && found.Matches(labels.Set(of))
}

// chainOf is short enough for the kernel, which takes 28 characters.
func chainOf(pod *core.Pod, way networking.PolicyType) string {
	digest := fnv.New64a()
	_, _ = digest.Write([]byte(string(pod.UID) + string(way)))
	return fmt.Sprintf("TIDELOG-%016x", digest.Sum64())
}

func run(program, input string, arguments ...string) (string, error) {
	command := exec.Command(program, arguments...)
	command.Stdin = strings.NewReader(input)
	var out bytes.Buffer
	command.Stdout, command.Stderr = &out, &out
	err := command.Run()
	return out.String(), err
}

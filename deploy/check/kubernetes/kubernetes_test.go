// Package kubernetes checks the manifests against the types and rules of Kubernetes and CloudNativePG, without a
// cluster. It is a separate module, so that the program does not depend on these releases.
package kubernetes

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	apps "k8s.io/api/apps/v1"
	scaling "k8s.io/api/autoscaling/v2"
	core "k8s.io/api/core/v1"
	network "k8s.io/api/networking/v1"
	disruption "k8s.io/api/policy/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	admission "k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
	"sigs.k8s.io/yaml"
)

const manifests = "../../kubernetes"

// installation is all objects that `kubectl apply -k` would create.
type installation struct {
	namespaces  []core.Namespace
	settings    []core.ConfigMap
	services    []core.Service
	deployments []apps.Deployment
	budgets     []disruption.PodDisruptionBudget
	scalers     []scaling.HorizontalPodAutoscaler
	policies    []network.NetworkPolicy
	ingresses   []network.Ingress
	database    []custom
}

// add decodes strictly: an unknown or repeated field is an error.
func add[T any](list *[]T, document []byte) error {
	var object T
	if err := yaml.UnmarshalStrict(document, &object); err != nil {
		return err
	}
	*list = append(*list, object)
	return nil
}

func (i *installation) add(kind string, document []byte) error {
	switch kind {
	case "v1/Namespace":
		return add(&i.namespaces, document)
	case "v1/ConfigMap":
		return add(&i.settings, document)
	case "v1/Service":
		return add(&i.services, document)
	case "apps/v1/Deployment":
		return add(&i.deployments, document)
	case "policy/v1/PodDisruptionBudget":
		return add(&i.budgets, document)
	case "autoscaling/v2/HorizontalPodAutoscaler":
		return add(&i.scalers, document)
	case "networking.k8s.io/v1/NetworkPolicy":
		return add(&i.policies, document)
	case "networking.k8s.io/v1/Ingress":
		return add(&i.ingresses, document)
	case "postgresql.cnpg.io/v1/Cluster", "postgresql.cnpg.io/v1/ScheduledBackup", "barmancloud.cnpg.io/v1/ObjectStore":
		return add(&i.database, document)
	}
	return errors.New("no type is known for " + kind)
}

// read reads the objects of a site. kustomization.yaml must name all manifests.
func read(t *testing.T) *installation {
	t.Helper()
	var list struct {
		meta.TypeMeta
		Namespace string
		Resources []string
		Images    []map[string]string
	}
	text, err := os.ReadFile(filepath.Join(manifests, "kustomization.yaml"))
	if err == nil {
		err = yaml.UnmarshalStrict(text, &list)
	}
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(manifests, "*.yaml"))
	if err != nil || len(files) != len(list.Resources)+1 {
		t.Fatalf("kustomization.yaml names %v of %v (%v)", list.Resources, files, err)
	}
	all := &installation{}
	for _, document := range strings.Split(buildSite(t, ""), "\n---\n") {
		var kind meta.TypeMeta
		err := yaml.Unmarshal([]byte(document), &kind)
		if err == nil {
			err = all.add(kind.APIVersion+"/"+kind.Kind, []byte(document))
		}
		if err != nil {
			t.Fatalf("%v in:\n%s", err, document)
		}
	}
	return all
}

func TestEveryObjectMatchesItsSchema(t *testing.T) {
	all := read(t)
	if len(all.deployments) != 3 || len(all.services) != 2 || len(all.database) != 3 || len(all.policies) != 2 {
		t.Fatalf("objects are missing: %+v", all)
	}
}

func TestPodsMeetThePodSecurityStandard(t *testing.T) {
	all := read(t)
	level, err := admission.ParseLevel(all.namespaces[0].Labels[admission.EnforceLevelLabel])
	if err != nil || level != admission.LevelRestricted {
		t.Fatalf("the namespace enforces %q (%v)", level, err)
	}
	rules, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range all.deployments {
		pod := d.Spec.Template
		for _, result := range rules.EvaluatePod(admission.LevelVersion{Level: level,
			Version: admission.LatestVersion()}, &pod.ObjectMeta, &pod.Spec) {
			if !result.Allowed {
				t.Errorf("%s: %s: %s", d.Name, result.ForbiddenReason, result.ForbiddenDetail)
			}
		}
		if links := pod.Spec.EnableServiceLinks; links == nil || *links {
			t.Errorf("%s: service variables would be among its settings", d.Name)
		}
		for _, container := range pod.Spec.Containers {
			if root := container.SecurityContext.ReadOnlyRootFilesystem; root == nil || !*root {
				t.Errorf("%s: its root file system can be written to", d.Name)
			}
		}
	}
}

// secrets are the required secrets, with the document or operator that creates each.
var secrets = map[string]string{
	"servery-key": "README.md", "servery-backup": "README.md", "servery-tls": "README.md",
	"servery-database-app": "CloudNativePG", "servery-database-ca": "CloudNativePG",
}

func TestGuideCreatesEverySecret(t *testing.T) {
	guide, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	for name, by := range secrets {
		if by == "README.md" && !regexp.MustCompile(`create secret (generic|tls) `+name+` `).Match(guide) {
			t.Errorf("the guide does not create the secret %s", name)
		}
	}
}

func TestReferencedObjectsExist(t *testing.T) {
	all, objects := read(t), map[string]bool{}
	for _, c := range all.settings {
		objects["settings "+c.Name] = true
	}
	for _, s := range all.services {
		objects["service "+s.Name] = true
	}
	for _, d := range all.deployments {
		objects["deployment "+d.Name] = true
	}
	mustExist := func(where, what string) {
		t.Helper()
		if !objects[what] {
			t.Errorf("%s names the %s, which does not exist", where, what)
		}
	}
	for _, d := range all.deployments {
		pod := d.Spec.Template.Spec
		for _, volume := range pod.Volumes {
			if volume.Secret != nil && secrets[volume.Secret.SecretName] == "" {
				t.Errorf("%s mounts the secret %s, which is unknown", d.Name, volume.Secret.SecretName)
			}
		}
		for _, container := range pod.Containers {
			checkContainer(t, d, container, mustExist)
		}
	}
	for _, s := range all.scalers {
		mustExist(s.Name, "deployment "+s.Spec.ScaleTargetRef.Name)
	}
	for _, i := range all.ingresses {
		for _, host := range i.Spec.TLS {
			if secrets[host.SecretName] == "" {
				t.Errorf("%s names the secret %s, which is unknown", i.Name, host.SecretName)
			}
		}
		for _, rule := range i.Spec.Rules {
			for _, path := range rule.HTTP.Paths {
				mustExist(i.Name+" "+path.Path, "service "+path.Backend.Service.Name)
			}
		}
	}
}

// checkContainer reports secrets, settings, volumes and ports that a container refers to but that do not exist.
func checkContainer(t *testing.T, d apps.Deployment, container core.Container, mustExist func(where, what string)) {
	t.Helper()
	for _, variable := range container.Env {
		if from := variable.ValueFrom; from != nil && secrets[from.SecretKeyRef.Name] == "" {
			t.Errorf("%s reads the secret %s, which is unknown", d.Name, from.SecretKeyRef.Name)
		}
	}
	for _, from := range container.EnvFrom {
		if from.ConfigMapRef != nil {
			mustExist(d.Name, "settings "+from.ConfigMapRef.Name)
		} else if secrets[from.SecretRef.Name] == "" {
			t.Errorf("%s names the secret %s, which is unknown", d.Name, from.SecretRef.Name)
		}
	}
	volumes, ports := map[string]bool{}, map[string]bool{}
	for _, volume := range d.Spec.Template.Spec.Volumes {
		volumes[volume.Name] = true
	}
	for _, mount := range container.VolumeMounts {
		if !volumes[mount.Name] {
			t.Errorf("%s mounts the unknown volume %s", d.Name, mount.Name)
		}
	}
	for _, port := range container.Ports {
		ports[port.Name] = true
	}
	for _, probe := range []*core.Probe{container.StartupProbe, container.ReadinessProbe,
		container.LivenessProbe} {
		if probe == nil || !ports[probe.HTTPGet.Port.String()] {
			t.Errorf("%s lacks a probe, or its port", d.Name)
		}
	}
}

func TestHubsReceiveNoRequestsBeforeStopping(t *testing.T) {
	for _, d := range read(t).deployments {
		pod := d.Spec.Template.Spec
		lifecycle := pod.Containers[0].Lifecycle
		if lifecycle == nil || lifecycle.PreStop == nil || lifecycle.PreStop.Sleep == nil ||
			lifecycle.PreStop.Sleep.Seconds < 5 {
			t.Errorf("%s is stopped while requests are still sent there", d.Name)
		} else if need := lifecycle.PreStop.Sleep.Seconds + 45; *pod.TerminationGracePeriodSeconds < need {
			t.Errorf("%s is killed before the %d s are over that it may need", d.Name, need)
		}
	}
}

func TestScaledDeploymentsSetNoReplicaCount(t *testing.T) {
	all, scaled := read(t), map[string]bool{}
	for _, s := range all.scalers {
		scaled[s.Spec.ScaleTargetRef.Name] = true
	}
	for _, d := range all.deployments {
		if (d.Spec.Replicas == nil) != scaled[d.Name] {
			t.Errorf("%s must have either replicas or a scaler", d.Name)
		}
	}
}

func TestSelectorsMatchTheHubPods(t *testing.T) {
	all := read(t)
	selectors := map[string]labels.Selector{"policy servery": selectorOf(t, &all.policies[0].Spec.PodSelector)}
	for _, s := range all.services {
		selectors["service "+s.Name] = labels.SelectorFromSet(s.Spec.Selector)
	}
	for _, b := range all.budgets {
		selectors["budget "+b.Name] = selectorOf(t, b.Spec.Selector)
	}
	for _, d := range all.deployments {
		selectors["deployment "+d.Name] = selectorOf(t, d.Spec.Selector)
	}
	for name, selector := range selectors {
		found := 0
		for _, d := range all.deployments {
			if selector.Matches(labels.Set(d.Spec.Template.Labels)) {
				found++
			}
		}
		if want := map[bool]int{true: len(all.deployments), false: 1}[name == "policy servery"]; found != want {
			t.Errorf("the %s selects the pods of %d deployments, not of %d", name, found, want)
		}
	}
}

func selectorOf(t *testing.T, source *meta.LabelSelector) labels.Selector {
	t.Helper()
	selector, err := meta.LabelSelectorAsSelector(source)
	if err != nil {
		t.Fatal(err)
	}
	return selector
}

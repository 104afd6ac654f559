package kubernetes

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

// placeholders are the values that site/kustomization.yaml leaves to the reader, with test values.
var own = strings.NewReplacer(
	"registry.example.com", "registry.mine.test", "1.0", "1.0.1", "hub.example.com", "hub.mine.test", "s3://BUCKET",
	"s3://mine")

// buildSite builds the site with the test values and the given components.
func builds(t *testing.T, components string) string {
	t.Helper()
	files := filesys.MakeFsInMemory()
	for _, room := range []string{"kubernetes", "recovery", "site"} {
		found, err := filepath.Glob("../../" + room + "/*.yaml")
		if err != nil || len(found) == 0 {
			t.Fatal(room, err)
		}
		for _, name := range found {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if room == "site" {
				text = []byte(own.Replace(string(text)) + components)
			}
			if err := files.WriteFile("/"+room+"/"+filepath.Base(name), text); err != nil {
				t.Fatal(err)
			}
		}
	}
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(files, "/site")
	if err != nil {
		t.Fatal(err)
	}
	text, err := built.AsYaml()
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestSiteOverlayReplacesEveryPlaceholder(t *testing.T) {
	built := builds(t, "")
	if n := strings.Count(built, "image: registry.mine.test/servery:1.0.1\n"); n != 3 {
		t.Errorf("%d deployments have the image of the site", n)
	}
	for _, left := range regexp.MustCompile(`(?m)^.*(example\.com|BUCKET|:latest|image: servery).*$`).
		FindAllString(built, -1) {
		t.Errorf("a placeholder is left: %s", left)
	}
}

func TestDatabaseRecoversFromItsOwnBackups(t *testing.T) {
	whole, stores := schemaOf(t, "Cluster"), []string(nil)
	for _, document := range strings.Split(builds(t, "components: [../recovery]\n"), "\n---\n") {
		var cluster custom
		if err := yaml.Unmarshal([]byte(document), &cluster); err != nil {
			t.Fatal(err)
		}
		if cluster["kind"] != "Cluster" {
			continue
		}
		whole.hold(t, cluster["spec"], "Cluster")
		before := at(cluster, "spec", "externalClusters").([]any)[0]
		if at(cluster, "spec", "bootstrap", "recovery", "source") != at(before, "name") ||
			at(cluster, "spec", "bootstrap", "initdb") != nil {
			t.Errorf("it is not made of its backups: %v", at(cluster, "spec", "bootstrap"))
		}
		now := at(cluster, "spec", "plugins").([]any)[0]
		for _, place := range []any{at(before, "plugin", "parameters"), at(now, "parameters")} {
			stores = append(stores, fmt.Sprint(at(place, "barmanObjectName"), "/", at(place, "serverName")))
		}
	}
	if len(stores) != 2 || stores[0] != "servery-backup/servery-database" || stores[1] == stores[0] {
		t.Errorf("it is read from and archived to %v", stores)
	}
}

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
var placeholders = strings.NewReplacer(
	"registry.example.com", "registry.mine.test", "1.0", "1.0.1", "hub.example.com", "hub.mine.test", "s3://BUCKET",
	"s3://mine")

// buildSite builds the site with the test values and the given components.
func buildSite(t *testing.T, components string) string {
	t.Helper()
	files := filesys.MakeFsInMemory()
	for _, dir := range []string{"kubernetes", "recovery", "site"} {
		found, err := filepath.Glob("../../" + dir + "/*.yaml")
		if err != nil || len(found) == 0 {
			t.Fatal(dir, err)
		}
		for _, name := range found {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if dir == "site" {
				text = []byte(placeholders.Replace(string(text)) + components)
			}
			if err := files.WriteFile("/"+dir+"/"+filepath.Base(name), text); err != nil {
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
	built := buildSite(t, "")
	if n := strings.Count(built, "image: registry.mine.test/servery:1.0.1\n"); n != 3 {
		t.Errorf("%d deployments have the image of the site", n)
	}
	for _, left := range regexp.MustCompile(`(?m)^.*(example\.com|BUCKET|:latest|image: servery).*$`).
		FindAllString(built, -1) {
		t.Errorf("a placeholder is left: %s", left)
	}
}

func TestDatabaseRecoversFromItsOwnBackups(t *testing.T) {
	spec, stores := schemaOf(t, "Cluster"), []string(nil)
	for _, document := range strings.Split(buildSite(t, "components: [../recovery]\n"), "\n---\n") {
		var cluster custom
		if err := yaml.Unmarshal([]byte(document), &cluster); err != nil {
			t.Fatal(err)
		}
		if cluster["kind"] != "Cluster" {
			continue
		}
		spec.check(t, cluster["spec"], "Cluster")
		before := at(cluster, "spec", "externalClusters").([]any)[0]
		if at(cluster, "spec", "bootstrap", "recovery", "source") != at(before, "name") ||
			at(cluster, "spec", "bootstrap", "initdb") != nil {
			t.Errorf("it is not restored from its backups: %v", at(cluster, "spec", "bootstrap"))
		}
		now := at(cluster, "spec", "plugins").([]any)[0]
		for _, params := range []any{at(before, "plugin", "parameters"), at(now, "parameters")} {
			stores = append(stores, fmt.Sprint(at(params, "barmanObjectName"), "/", at(params, "serverName")))
		}
	}
	if len(stores) != 2 || stores[0] != "servery-backup/servery-database" || stores[1] == stores[0] {
		t.Errorf("it is read from and archived to %v", stores)
	}
}

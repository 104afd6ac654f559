package kubernetes

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	barman "github.com/cloudnative-pg/barman-cloud/pkg/api"
	_ "github.com/cloudnative-pg/cloudnative-pg/pkg/versions" // keeps the release of the schemas in go.mod
	"sigs.k8s.io/yaml"
)

// custom is an object of CloudNativePG or of its plugin for backups.
type custom = map[string]any

// at returns the value at a path of an object, or nil.
func at(object any, path ...string) any {
	for _, name := range path {
		fields, _ := object.(map[string]any)
		object = fields[name]
	}
	return object
}

// object returns the only object of a kind.
func (i *installation) object(t *testing.T, kind string) custom {
	t.Helper()
	n := slices.IndexFunc(i.database, func(c custom) bool { return c["kind"] == kind })
	if n < 0 {
		t.Fatalf("there is no %s", kind)
	}
	return i.database[n]
}

// schema is a part of the CloudNativePG schema of a kind.
type schema struct {
	Properties           map[string]*schema
	AdditionalProperties any
	Items                *schema
	Enum, Required       []any
}

// check reports unknown fields, missing fields and values that the schema does not allow.
func (s *schema) check(t *testing.T, value any, path string) {
	t.Helper()
	switch value := value.(type) {
	case map[string]any:
		for name, field := range value {
			if below := s.Properties[name]; below != nil {
				below.check(t, field, path+"."+name)
			} else if s.AdditionalProperties == nil {
				t.Errorf("%s has no field %s", path, name)
			}
		}
		for _, name := range s.Required {
			if value[name.(string)] == nil {
				t.Errorf("%s lacks %s", path, name)
			}
		}
	case []any:
		for _, element := range value {
			s.Items.check(t, element, path+"[]")
		}
	default:
		if s.Enum != nil && !slices.Contains(s.Enum, value) {
			t.Errorf("%s is %v, not one of %v", path, value, s.Enum)
		}
	}
}

// schemaOf reads the schema of a kind's spec from the module of CloudNativePG.
func schemaOf(t *testing.T, kind string) *schema {
	t.Helper()
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/cloudnative-pg/cloudnative-pg").Output()
	if err != nil {
		t.Fatal(err)
	}
	var definition struct {
		Spec struct {
			Versions []struct {
				Schema struct{ OpenAPIV3Schema schema }
			}
		}
	}
	text, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "config/crd/bases",
		"postgresql.cnpg.io_"+strings.ToLower(kind)+"s.yaml"))
	if err == nil {
		err = yaml.Unmarshal(text, &definition)
	}
	if err != nil || len(definition.Spec.Versions) != 1 {
		t.Fatal("the schema cannot be read: ", kind, err)
	}
	return definition.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
}

func TestDatabaseObjectsMatchTheirSchemas(t *testing.T) {
	for _, kind := range []string{"Cluster", "ScheduledBackup"} {
		schemaOf(t, kind).check(t, at(read(t).object(t, kind), "spec"), kind)
	}
	var store struct {
		RetentionPolicy string
		Configuration   barman.BarmanObjectStoreConfiguration
	}
	spec, err := yaml.Marshal(at(read(t).object(t, "ObjectStore"), "spec"))
	if err == nil {
		err = yaml.UnmarshalStrict(spec, &store)
	}
	if err != nil {
		t.Error("ObjectStore: ", err)
	}
}

func TestBackupsAndTheirSecretsAreConfigured(t *testing.T) {
	all := read(t)
	cluster, store, nightly := all.object(t, "Cluster"), all.object(t, "ObjectStore"), all.object(t, "ScheduledBackup")
	plugins, _ := at(cluster, "spec", "plugins").([]any)
	if len(plugins) != 1 || at(plugins[0], "isWALArchiver") != true ||
		at(plugins[0], "parameters", "barmanObjectName") != at(store, "metadata", "name") {
		t.Fatalf("the WAL is not archived to the store: %v", plugins)
	}
	if at(nightly, "spec", "cluster", "name") != at(cluster, "metadata", "name") ||
		at(nightly, "spec", "pluginConfiguration", "name") != at(plugins[0], "name") {
		t.Errorf("no backup of this cluster is taken by its plugin: %v", nightly["spec"])
	}
	for _, key := range []string{"accessKeyId", "secretAccessKey"} {
		if name, _ := at(store, "spec", "configuration", "s3Credentials", key, "name").(string); secrets[name] == "" {
			t.Errorf("the store names the secret %q, which is unknown", name)
		}
	}
}

func TestHubConnectionsFitTheDatabaseLimit(t *testing.T) {
	all := read(t)
	maxReplicas := map[string]int32{}
	for _, d := range all.deployments {
		if d.Spec.Replicas != nil {
			maxReplicas[d.Name] = *d.Spec.Replicas
		}
	}
	for _, s := range all.scalers {
		maxReplicas[s.Spec.ScaleTargetRef.Name] = s.Spec.MaxReplicas
	}
	hubs := 0
	for _, d := range all.deployments {
		hubs += int(maxReplicas[d.Name]) + d.Spec.Strategy.RollingUpdate.MaxSurge.IntValue() // during a rolling update
	}
	perHub, err := strconv.Atoi(all.settings[0].Data["SERVERY_DATABASE_CONNECTIONS"])
	if err != nil {
		t.Fatal(err)
	}
	setting, _ := at(all.object(t, "Cluster"), "spec", "postgresql", "parameters", "max_connections").(string)
	limit, err := strconv.Atoi(setting)
	if err != nil {
		t.Fatal(err)
	}
	const others = 10 // superusers, the operator, doctor, psql
	if need := hubs*(perHub+2) + others; hubs < 6 || need > limit {
		t.Errorf("%d hubs with %d connections and two more need %d, the database has %d", hubs, perHub, need, limit)
	}
}

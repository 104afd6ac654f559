package compat

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
)

// A nightly Java batch job sends whole catalogues, compressed and in chunks, and reads only the counts.
var javaBatch = map[string]string{"Accept": "application/json", "Content-Type": "application/json;charset=UTF-8",
	"Content-Encoding": "gzip", "Transfer-Encoding": "chunked"}

// moving.md, What clients send: accompaniments of aggregator B is a positive integer, as text like every value of a
// key-value group.
func TestJavaBatchSendsAccompaniments(t *testing.T) {
	c := newClient(t, javaBatch)
	c.subscribe("inventory_update")
	item := func(value string) string {
		return fmt.Sprintf(`{"items":[{"ref_id":"thali","title":"Thali","price":12.0,`+
			`"key_value_groups":[{"group":"Additional Info",`+
			`"key_value_data":[{"key":"accompaniments","value":%s},{"key":"quantity","value":"2"},`+
			`{"key":"quantity_unit","value":"pieces"}]}]}]}`,
			value)
	}
	require.Empty(t, warnings(c.applied("-1", item(`"3"`))))
	data := c.stored("-1", "items")[0].get("key_value_groups.0.key_value_data").list()
	require.Equal(t, "3", find(data, "key", "accompaniments").get("value").text())
	for _, value := range []string{`"raita, pickle"`, `"0"`, `"-1"`, `"1.5"`, `""`} {
		c.refused("POST", menuPath+"-1/", item(value),
			`items[0] (ref_id "thali"): key_value_groups[0].key_value_data[0].value`)
	}
}

// realData contains request bodies from public data.
const realData = "../../../../shared/data"

// moving.md, Check the move: all stores and the whole menu without an error, and a second time without a change.
func TestJavaBatchSendsRealCatalogues(t *testing.T) {
	if _, err := os.Stat(realData); err != nil {
		t.Skip("the bodies are not there")
	}
	sharedHub(t)
	india := core.Business{Name: "Test Kitchen", Country: "IN", Timezone: "Asia/Kolkata", Currency: "INR"}
	states := core.Business{Name: "Test Kitchen", Country: "US", Timezone: "America/Los_Angeles", Currency: "USD"}
	for name, business := range map[string]core.Business{"stores-california": states, "menu-fastfood": states,
		"menu-drinks": states, "menu-square-sample": states, "menu-indian-foods": india, "menu-max": india} {
		t.Run(name, func(t *testing.T) {
			body, err := os.ReadFile(filepath.Join(realData, name+".json"))
			require.NoError(t, err)
			var objects map[string][]json.RawMessage
			require.NoError(t, json.Unmarshal(body, &objects))
			c := newClientOf(t, business, javaBatch)
			c.subscribe("store_creation", "inventory_update")
			path := menuPath + "-1/"
			if name == "stores-california" {
				path = storesPath
			}
			for _, counted := range []string{"created", "updated"} {
				callback := c.push(path, string(body))
				require.Empty(t, failures(callback))
				for kind, list := range objects {
					stats := "stats."
					if kind != "stores" {
						stats += kind + "."
					}
					require.Equal(t, float64(len(list)), callback.get(stats+counted).number(), kind)
				}
			}
		})
	}
}

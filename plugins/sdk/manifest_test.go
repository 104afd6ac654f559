package sdk

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	pb "github.com/servery-hub/servery/plugins/proto"
)

const manifestText = `id: tasty
version: 1.2.3
protocol: 1
capabilities: [menu_check, rider_status]
binaries:
  - {os: linux, arch: amd64, path: tasty, sha256: 2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824}
  - {os: linux, arch: arm64, path: arm/tasty, sha256: 2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824}
endpoints:
  - {name: api, hosts: ["*.tasty.example"]}
secrets: [key]
limits: {memory_mb: 128, in_flight: 8}
`

func TestManifestRoundTrips(t *testing.T) {
	m, err := ParseManifest([]byte(manifestText))
	require.NoError(t, err)
	text, err := m.YAML()
	require.NoError(t, err)
	again, err := ParseManifest(text)
	require.NoError(t, err)
	require.Equal(t, m, again)
}

func TestInvalidManifestIsExplained(t *testing.T) {
	for _, c := range []struct{ from, to, says string }{
		{"id: tasty", "id: Tasty", `id "Tasty"`},
		{"version: 1.2.3", "version: 1.2", `version "1.2"`},
		{"protocol: 1", "protocol: 2", "protocol 2: must be 1"},
		{"menu_check, rider_status", "rider_status, menu_check", "must be sorted"},
		{"menu_check, rider_status", "menu_check, sing", `"sing" is not known`},
		{"path: tasty", "path: ../tasty", `binaries[0]: path "../tasty"`},
		{"path: tasty", "path: /bin/sh", `binaries[0]: path "/bin/sh"`},
		{"9824}\n  - {os: linux, arch: arm64", "98}\n  - {os: linux, arch: arm64", "binaries[0]: sha256"},
		{"arch: arm64", "arch: amd64", "linux/amd64 is listed twice"},
		{`["*.tasty.example"]`, `["https://tasty.example"]`, `"https://tasty.example" must be a host name`},
		{`["*.tasty.example"]`, `[]`, "hosts: at least one"},
		{"secrets: [key]", "secrets: [key, key]", "secrets[1]"},
		{"limits:", "limit: 3\nlimits:", "field limit not found"},
		{"protocol: 1\n", "protocol: 1\ntransport: carrier-pigeon\n", `transport "carrier-pigeon"`},
		{"limits: {memory_mb: 128, in_flight: 8}\n", "limits: {}\n---\nid: second\n", "one document"},
	} {
		text := strings.Replace(manifestText, c.from, c.to, 1)
		require.NotEqual(t, manifestText, text, c.from)
		_, err := ParseManifest([]byte(text))
		require.ErrorContains(t, err, c.says)
	}
}

func TestManifestSelectsTheBinaryOfTheSystem(t *testing.T) {
	m, err := ParseManifest([]byte(manifestText))
	require.NoError(t, err)
	b, err := m.Binary("linux", "arm64")
	require.NoError(t, err)
	require.Equal(t, "arm/tasty", b.Path)
	require.NoError(t, b.Verify(strings.NewReader("hello")))
	b.SHA256 = strings.ToUpper(b.SHA256)
	require.NoError(t, b.Verify(strings.NewReader("hello")))
	require.ErrorContains(t, b.Verify(strings.NewReader("hell0")), "not 2CF2")
	_, err = m.Binary("plan9", "amd64")
	require.EqualError(t, err, "plugin tasty has no binary for plan9/amd64")
}

func TestEveryManifestMismatchIsNamed(t *testing.T) {
	m, err := ParseManifest([]byte(manifestText))
	require.NoError(t, err)
	about := func() *Description {
		return &Description{Id: "tasty", Version: "1.2.3", Protocol: 1,
			Capabilities: []string{"menu_check", "rider_status"},
			Endpoints:    []*pb.Endpoint{{Name: "api", Hosts: []string{"*.tasty.example"}}},
			Secrets:      []*pb.Secret{{Name: "key"}},
			Limits:       &pb.Limits{MemoryMb: 128, InFlight: 8}}
	}
	require.NoError(t, m.Matches(about()))
	for _, m.Version = range []string{"1.2.3", "1.2.3+dev.1"} {
		built := about()
		built.Version = "1.2.3+abc"
		require.NoError(t, m.Matches(built), "build metadata may differ")
	}
	for says, change := range map[string]func(*Description){
		"id":           func(d *Description) { d.Id = "other" },
		"version":      func(d *Description) { d.Version = "1.2.4" },
		"protocol":     func(d *Description) { d.Protocol = 2 },
		"capabilities": func(d *Description) { d.Capabilities = d.Capabilities[:1] },
		"endpoints":    func(d *Description) { d.Endpoints[0].Hosts = []string{"evil.example"} },
		"secrets":      func(d *Description) { d.Secrets = nil },
		"limits":       func(d *Description) { d.Limits.MemoryMb = 4096 },
	} {
		d := about()
		change(d)
		require.ErrorContains(t, m.Matches(d), says+": the manifest says")
	}
}

func TestInvalidDescriptionIsExplained(t *testing.T) {
	err := CheckDescription(&Description{
		Id: "-", Version: "one", Protocol: 9, Capabilities: []string{"menu_check"},
		Vocabulary: []*pb.VocabularyGroup{{Group: "G", OnItem: true,
			Keys: []*pb.VocabularyKey{{Name: "k", Rule: pb.ValueRule_VALUE_RULE_ONE_OF}}}},
		Actions: []*pb.ActionOffer{{Name: "Sing!", ByCallback: true}},
		Inbound: []*pb.Inbound{{Kind: "order", Purpose: pb.InboundPurpose_INBOUND_PURPOSE_ORDER,
			Scheme: pb.InboundScheme_INBOUND_SCHEME_EQUALS, Header: "x", Secret: "none"}, {Kind: "order"}},
	})
	for _, says := range []string{
		`id "-"`, `version "one"`, "protocol 9", "display_name", `vocabulary[0] (group "G"): key "k"`, "actions[0]",
		"actions: need the capability action_plan", `(name "Sing!"): by_callback needs the capability action_callback`,
		`inbound[0] (kind "order"): needs the capability order_translate`,
		`secret "none": is not declared`, `inbound[1] (kind "order"): the kind must be unique`,
	} {
		require.ErrorContains(t, err, says)
	}
}

// FuzzManifest checks that an accepted manifest survives writing and reading.
func FuzzManifest(f *testing.F) {
	f.Add([]byte(manifestText))
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := ParseManifest(text)
		if err != nil {
			return
		}
		written, err := m.YAML()
		require.NoError(t, err)
		again, err := ParseManifest(written)
		require.NoError(t, err)
		require.Equal(t, m.ID, again.ID)
		require.Equal(t, m.Binaries, again.Binaries)
	})
}

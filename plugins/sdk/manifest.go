package sdk

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	pb "github.com/servery-hub/servery/plugins/proto"
)

// ManifestName is the name of the manifest file beside a plugin's program. The hub does not run a program without
// one.
const ManifestName = "plugin.yaml"

// The transports between hub and plugin. Both use a socket in a directory that only the hub can access.
const (
	TransportMTLS   = "mtls"   // go-plugin's AutoMTLS; the default
	TransportSocket = "socket" // unencrypted, for languages whose TLS rejects go-plugin's certificates
)

// Manifest is the manifest of a plugin, which the operator accepts by installing it. The running plugin's description
// must match it.
type Manifest struct {
	ID           string             `yaml:"id" json:"id"`
	Version      string             `yaml:"version" json:"version"`
	Protocol     uint32             `yaml:"protocol" json:"protocol"`
	Transport    string             `yaml:"transport,omitempty" json:"transport,omitempty"`
	Capabilities []string           `yaml:"capabilities" json:"capabilities"`
	Binaries     []Binary           `yaml:"binaries" json:"binaries"`
	Endpoints    []ManifestEndpoint `yaml:"endpoints,omitempty" json:"endpoints,omitempty"`
	Secrets      []string           `yaml:"secrets,omitempty" json:"secrets,omitempty"`
	Credentials  []string           `yaml:"credentials,omitempty" json:"credentials,omitempty"`
	Limits       ManifestLimits     `yaml:"limits" json:"limits"`
}

// Binary is the plugin's program for one system.
type Binary struct {
	OS     string `yaml:"os" json:"os"`     // as in GOOS; any for scripts
	Arch   string `yaml:"arch" json:"arch"` // as in GOARCH; any for scripts
	Path   string `yaml:"path" json:"path"` // relative to the manifest's directory
	SHA256 string `yaml:"sha256" json:"sha256"`
}

// AnySystem is the OS and Arch of a Binary that runs on every system.
const AnySystem = "any"

// ManifestEndpoint is an endpoint of the aggregator, with its allowed hosts.
type ManifestEndpoint struct {
	Name  string   `yaml:"name" json:"name"`
	Hosts []string `yaml:"hosts" json:"hosts"`
}

// ManifestLimits are the plugin's resource limits. For a zero value the hub uses its default.
type ManifestLimits struct {
	MemoryMB uint32 `yaml:"memory_mb" json:"memory_mb"`
	InFlight uint32 `yaml:"in_flight" json:"in_flight"`
}

// defaultMemory is the default memory limit, in MB.
const defaultMemory = 512

// Memory returns the memory limit of the plugin and its child processes, in bytes.
func (l ManifestLimits) Memory() uint64 { return uint64(cmp.Or(l.MemoryMB, defaultMemory)) << 20 }

// ReadManifest reads and validates a manifest file.
func ReadManifest(path string) (*Manifest, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	m, err := ParseManifest(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return m, nil
}

// ParseManifest parses and validates a manifest. Unknown fields are an error.
func ParseManifest(text []byte) (*Manifest, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	m := &Manifest{}
	if err := decoder.Decode(m); err != nil {
		return nil, err
	}
	if err := decoder.Decode(&Manifest{}); !errors.Is(err, io.EOF) {
		return nil, errors.New("must be one document")
	}
	return m, m.Check()
}

// YAML returns the manifest as YAML.
func (m *Manifest) YAML() ([]byte, error) {
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	err := errors.Join(encoder.Encode(m), encoder.Close())
	return out.Bytes(), err
}

// Check returns an error that lists everything wrong with the manifest. It does not read other files.
func (m *Manifest) Check() error {
	c := &validation{}
	c.check(IsID(m.ID), "id %q: must be lower-case letters, digits and hyphens, at most 64", m.ID)
	c.check(versionPattern.MatchString(m.Version), "version %q: must be a semantic version, such as 1.0.0", m.Version)
	c.check(m.Protocol == Protocol, "protocol %d: must be %d", m.Protocol, Protocol)
	c.check(slices.Contains([]string{"", TransportMTLS, TransportSocket}, m.Transport),
		"transport %q: must be %s or %s", m.Transport, TransportMTLS, TransportSocket)
	c.capabilities(m.Capabilities)
	c.check(len(m.Binaries) > 0, "binaries: at least one is required")
	for i, b := range m.Binaries {
		digest, err := hex.DecodeString(b.SHA256)
		c.check(b.OS != "" && b.Arch != "", "binaries[%d]: os and arch: are required", i)
		c.check(filepath.IsLocal(b.Path), "binaries[%d]: path %q: must lie below the manifest's directory", i, b.Path)
		c.check(err == nil && len(digest) == sha256.Size, "binaries[%d]: sha256: must be 64 hexadecimal digits", i)
		same := func(other Binary) bool { return other.OS == b.OS && other.Arch == b.Arch }
		c.check(!slices.ContainsFunc(m.Binaries[:i], same), "binaries[%d]: %s/%s is listed twice", i, b.OS, b.Arch)
	}
	c.endpoints(m.endpoints())
	c.secrets(m.secrets())
	for i, name := range m.Credentials {
		c.check(namePattern.MatchString(name) && !slices.Contains(m.Credentials[:i], name),
			"credentials[%d]: name %q: must be lower-case letters, digits and underscores, and unique", i, name)
	}
	return c.err()
}

func (m *Manifest) endpoints() (list []*pb.Endpoint) {
	for _, e := range m.Endpoints {
		list = append(list, &pb.Endpoint{Name: e.Name, Hosts: e.Hosts})
	}
	return list
}

func (m *Manifest) secrets() (list []*pb.Secret) {
	for _, name := range m.Secrets {
		list = append(list, &pb.Secret{Name: name})
	}
	return list
}

// Binary returns the program for a system, or an error if there is none.
func (m *Manifest) Binary(system, arch string) (Binary, error) {
	for _, b := range m.Binaries {
		if (b.OS == system || b.OS == AnySystem) && (b.Arch == arch || b.Arch == AnySystem) {
			return b, nil
		}
	}
	return Binary{}, fmt.Errorf("plugin %s has no binary for %s/%s", m.ID, system, arch)
}

// Verify checks the digest of a program.
func (b Binary) Verify(program io.Reader) error {
	digest, err := Digest(program)
	if err == nil && !strings.EqualFold(digest, b.SHA256) {
		err =
			fmt.Errorf("%s has the SHA-256 digest %s, not %s: regenerate its manifest with servery plugin describe "+
				"%s --manifest > %s",
				b.Path, digest, b.SHA256, b.Path, ManifestName)
	}
	return err
}

// Digest returns the SHA-256 digest of the input, in hexadecimal.
func Digest(r io.Reader) (string, error) {
	hash := sha256.New()
	if _, err := io.Copy(hash, r); err != nil {
		return "", err
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}

// ManifestOf returns the manifest for a description.
func ManifestOf(d *Description, transport string, binaries ...Binary) *Manifest {
	if transport == TransportMTLS {
		transport = ""
	}
	m := &Manifest{
		ID: d.GetId(), Version: d.GetVersion(), Protocol: d.GetProtocol(), Transport: transport,
		Capabilities: d.GetCapabilities(), Binaries: binaries,
		Limits: ManifestLimits{d.GetLimits().GetMemoryMb(), d.GetLimits().GetInFlight()},
	}
	for _, e := range d.GetEndpoints() {
		m.Endpoints = append(m.Endpoints, ManifestEndpoint{e.GetName(), e.GetHosts()})
	}
	for _, s := range d.GetSecrets() {
		m.Secrets = append(m.Secrets, s.GetName())
	}
	for _, o := range d.GetCredentials() {
		m.Credentials = append(m.Credentials, o.GetName())
	}
	return m
}

// withoutBuild returns a version without its build metadata, such as +dev.3.
func withoutBuild(version string) string {
	version, _, _ = strings.Cut(version, "+")
	return version
}

// Matches returns an error that lists every difference between a description and the manifest. The build metadata of
// the versions can differ, because a build during development gets a number.
func (m *Manifest) Matches(d *Description) error {
	c := &validation{}
	says := ManifestOf(d, m.Transport)
	c.check(m.ID == says.ID, "id: the manifest says %q, the plugin %q", m.ID, says.ID)
	c.check(withoutBuild(m.Version) == withoutBuild(says.Version),
		"version: the manifest says %q, the plugin %q", m.Version, says.Version)
	c.check(m.Protocol == says.Protocol, "protocol: the manifest says %d, the plugin %d", m.Protocol, says.Protocol)
	c.check(slices.Equal(m.Capabilities, says.Capabilities), "capabilities: the manifest says %v, the plugin %v",
		m.Capabilities, says.Capabilities)
	c.check(slices.Equal(m.Secrets, says.Secrets), "secrets: the manifest says %v, the plugin %v", m.Secrets,
		says.Secrets)
	c.check(slices.Equal(m.Credentials, says.Credentials), "credentials: the manifest says %v, the plugin %v",
		m.Credentials, says.Credentials)
	same := func(a, b ManifestEndpoint) bool { return a.Name == b.Name && slices.Equal(a.Hosts, b.Hosts) }
	c.check(slices.EqualFunc(m.Endpoints, says.Endpoints, same), "endpoints: the manifest says %v, the plugin %v",
		m.Endpoints, says.Endpoints)
	c.check(m.Limits == says.Limits, "limits: the manifest says %+v, the plugin %+v", m.Limits, says.Limits)
	return c.err()
}

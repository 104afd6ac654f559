package devpg

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
)

// layout is the location of the files of one private server.
type layout struct {
	data  string  // the data directory, absolute and without symlinks
	base  string  // contains the cluster and downloaded binaries
	owner account // the user that the server runs as
}

func (p layout) cluster() string  { return filepath.Join(p.base, "postgres") }
func (p layout) binaries() string { return filepath.Join(p.base, "postgres-binaries") }
func (p layout) logPath() string  { return filepath.Join(p.data, "postgres.log") }

// locate returns the layout for a data directory. An existing cluster determines it. A new cluster goes into the data
// directory. If the server's user cannot reach that, it goes below fallbackRoot, under a name derived from the data
// directory.
func locate(data, fallbackRoot string) (layout, error) {
	local := layout{data: data, base: data}
	remote := layout{data: data, base: filepath.Join(fallbackRoot, "servery-"+shortHash(data))}

	for _, p := range []layout{local, remote} {
		if !clusterExists(p.cluster()) {
			continue
		}
		owner, err := ownerAccount(p.cluster())
		if err != nil {
			return layout{}, err
		}
		if !owner.canReach(p.base) {
			return layout{},
				fmt.Errorf("cluster %s cannot be reached by its owner "+
					"%s: run chmod o+x on its parent directories", p.cluster(), owner.name)
		}
		p.owner = owner
		return p, nil
	}

	if os.Geteuid() != 0 {
		local.owner = ownAccount()
		return local, nil
	}
	owner, err := serviceAccount()
	if err != nil {
		return layout{}, err
	}
	local.owner, remote.owner = owner, owner
	if owner.canReach(data) {
		return local, nil
	}
	return remote, nil
}

// prepare creates the directory of a cluster outside the data directory, regardless of the umask.
func (p layout) prepare() error {
	if p.base == p.data {
		return nil
	}
	if err := os.MkdirAll(p.base, 0o755); err != nil {
		return fmt.Errorf("create directory for the cluster: %w", err)
	}
	if err := os.Chmod(p.base, 0o755); err != nil {
		return fmt.Errorf("open directory for the cluster: %w", err)
	}
	return nil
}

// shortHash returns a short name for a data directory, because the length of socket paths is limited.
func shortHash(path string) string {
	sum := sha256.Sum256([]byte(path))
	return hex.EncodeToString(sum[:6])
}

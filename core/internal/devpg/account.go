package devpg

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/servery-hub/servery/core"
)

// account is the system user that the server runs as. PostgreSQL refuses to run as root, so root switches to another
// user.
type account struct {
	name     string
	uid, gid int
	switched bool
}

// ownerRemedy is the remedy for a data directory of another user.
const ownerRemedy = "run it as the user who owns the data directory, or set another SERVERY_DATA_DIR"

// ownAccount returns the user of this process.
func ownAccount() account {
	return account{name: "uid " + strconv.Itoa(os.Geteuid()), uid: os.Geteuid(), gid: os.Getegid()}
}

// serviceAccount returns the unprivileged user for a new cluster of root.
func serviceAccount() (account, error) {
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, uidErr := strconv.ParseUint(u.Uid, 10, 32)
		gid, gidErr := strconv.ParseUint(u.Gid, 10, 32)
		if uidErr != nil || gidErr != nil || uid == 0 {
			continue
		}
		return account{name: name, uid: int(uid), gid: int(gid), switched: true}, nil
	}
	return account{},
		errors.New("PostgreSQL cannot run as root without a system user postgres: run as an ordinary user")
}

// ownerAccount returns the user that owns an existing cluster.
func ownerAccount(cluster string) (account, error) {
	info, err := os.Stat(cluster)
	if err != nil {
		return account{}, fmt.Errorf("cluster owner: %w", err)
	}
	uid, gid := ownerOf(info)
	current := ownAccount()
	switch {
	case uid == 0:
		return account{},
			core.WithRemedy(fmt.Errorf("cluster %s belongs to root, but PostgreSQL cannot "+
				"run as root: run chown -R postgres %s", cluster, cluster),
				"give the data directory to the user of the hub, as the error says")
	case uid == current.uid:
		return current, nil
	case current.uid != 0:
		return account{},
			core.WithRemedy(fmt.Errorf("cluster %s belongs to uid %d, not to %d: "+
				"run as that user, or set another data directory", cluster, uid, current.uid), ownerRemedy)
	}
	return account{name: "uid " + strconv.Itoa(uid), uid: uid, gid: gid, switched: true}, nil
}

// attributes returns the account's credentials for a process. The process gets its own session, so that a Ctrl-C in our
// terminal does not reach it.
func (a account) attributes() *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setsid: true}
	if a.switched {
		attr.Credential = &syscall.Credential{
			Uid: uint32(a.uid), Gid: uint32(a.gid), Groups: []uint32{uint32(a.gid)},
		}
	}
	return attr
}

// canReach reports whether the account may traverse dir and all its parents. It checks only the mode bits, not access
// control lists.
func (a account) canReach(dir string) bool {
	if !a.switched {
		return true
	}
	for {
		info, err := os.Stat(dir)
		if err != nil || !a.canTraverse(info) {
			return false
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return true
		}
		dir = parent
	}
}

func (a account) canTraverse(info os.FileInfo) bool {
	uid, gid := ownerOf(info)
	switch {
	case uid == a.uid:
		return info.Mode()&0o100 != 0
	case gid == a.gid:
		return info.Mode()&0o010 != 0
	}
	return info.Mode()&0o001 != 0
}

// chown gives the account a file or directory that root created.
func (a account) chown(path string) error {
	if !a.switched {
		return nil
	}
	if err := os.Lchown(path, a.uid, a.gid); err != nil {
		return fmt.Errorf("changing the owner to %s: %w", a.name, err)
	}
	return nil
}

func ownerOf(info os.FileInfo) (uid, gid int) {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(st.Uid), int(st.Gid)
	}
	return -1, -1
}

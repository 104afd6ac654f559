package devpg

import (
	"context"
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

const (
	// superuser is created by initdb without a password, so no user can sign in as it. Only createRoles uses it, before
	// the server first listens.
	superuser = "postgres"
	// roleName is the name of the hub's role and of its database, so that tools find one by the other. The role is not
	// a superuser.
	roleName = "servery"
	// tenantRole is the role that the hub takes to read the rows of one business.
	tenantRole = "servery_tenant"
	// testRole is a superuser that exists only in clusters for tests and benchmarks.
	testRole = "servery_admin"
	// passwordFile is in the cluster, readable only by its owner.
	passwordFile = "servery.password"
	// scramRounds is low, because a random password of 256 bits cannot be guessed and each connection computes the
	// rounds.
	scramRounds = 1
)

// hbaConf is pg_hba.conf. It allows no TCP connection, even if listen_addresses is set.
const hbaConf = "# Every role gives a password; the one of servery is in " + passwordFile + ".\n" +
	"local all all scram-sha-256\nlocal replication all scram-sha-256\n"

// createRoles creates the hub's role, its password and its database in a new cluster. It uses a single-user backend, so
// that the superuser never needs a socket or a password.
func createRoles(ctx context.Context, owner account, bins binaries, dir string, cfg Config) error {
	password := rand.Text() + rand.Text()
	if err := replaceFile(filepath.Join(dir, passwordFile), []byte(password+"\n"), owner); err != nil {
		return err
	}
	secret, err := scramSecret(password)
	if err != nil {
		return fmt.Errorf("create roles: %w", err)
	}
	statements := []string{
		"CREATE ROLE " + roleName + " LOGIN PASSWORD '" + secret + "'",
		"CREATE ROLE " + tenantRole + " NOLOGIN",
		"GRANT " + tenantRole + " TO " + roleName,
		"CREATE DATABASE " + roleName + " OWNER " + roleName,
	}
	if cfg.Testing {
		statements = append(statements, "CREATE ROLE "+testRole+" SUPERUSER LOGIN PASSWORD '"+secret+"'")
		if bins.major >= 15 { // benchmarks start with a checkpoint
			statements = append(statements, "GRANT pg_checkpoint TO "+roleName)
		}
	}
	// Without exit_on_error, the backend continues after an error.
	args := []string{"--single", "-D", dir, "-c", "exit_on_error=on", "-c", "log_min_error_statement=panic"}
	if !fsyncEnabled(cfg.Settings) {
		args = append(args, "-c", "fsync=off")
	}
	if _, err := runWithInput(ctx, owner, strings.Join(statements, "\n")+"\n", bins.postgres(),
		append(args, "postgres")...); err != nil {
		return fmt.Errorf("create roles: %w", err)
	}
	return nil
}

// scramSecret returns the SCRAM verifier of a password, so that PostgreSQL never sees the password.
func scramSecret(password string) (string, error) {
	salt := make([]byte, 16)
	_, _ = rand.Read(salt) // never fails (crypto/rand)
	salted, err := pbkdf2.Key(sha256.New, password, salt, scramRounds, sha256.Size)
	if err != nil {
		return "", err
	}
	key := func(name string) []byte {
		mac := hmac.New(sha256.New, salted)
		mac.Write([]byte(name))
		return mac.Sum(nil)
	}
	stored := sha256.Sum256(key("Client Key"))
	text := base64.StdEncoding.EncodeToString
	return fmt.Sprintf("SCRAM-SHA-256$%d:%s$%s:%s", scramRounds, text(salt), text(stored[:]), text(key("Server Key"))),
		nil
}

// readPassword returns the password of the hub's role.
func (p layout) readPassword() (string, error) {
	password, err := os.ReadFile(filepath.Join(p.cluster(), passwordFile))
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("the database in %s has no %s: restore the file, or move the directory away to create "+
			"a new database", p.cluster(), passwordFile)
	}
	if err != nil {
		return "", fmt.Errorf("password of the private PostgreSQL: %w", err)
	}
	return strings.TrimSpace(string(password)), nil
}

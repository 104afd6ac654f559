package core_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
)

func TestConnectionErrorsMeanDatabaseUnavailable(t *testing.T) {
	for err, want := range map[error]bool{
		fmt.Errorf("reading: %w", context.DeadlineExceeded): true,
		fmt.Errorf("reading: %w", io.EOF):                   true,
		&net.OpError{Op: "dial", Err: io.ErrClosedPipe}:     true,
		sqlState("57P03"):   true,
		sqlState("53100"):   true, // the disk is full
		sqlState("53300"):   true, // too many connections
		sqlState("25006"):   true, // read-only
		sqlState("25P02"):   false,
		sqlState("23505"):   false,
		errors.New("other"): false,
		&fs.PathError{Op: "open", Path: "missing.key", Err: syscall.ENOENT}: false,
	} {
		require.Equal(t, want, core.IsDatabaseUnavailable(err), err)
	}
}

// sqlState is a database error with this code.
type sqlState string

func (s sqlState) Error() string     { return string(s) }
func (s sqlState) Field(byte) string { return string(s) }

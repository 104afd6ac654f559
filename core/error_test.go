package core_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
)

func TestConnectionErrorsAreCutOffs(t *testing.T) {
	for err, want := range map[error]bool{
		fmt.Errorf("reading: %w", context.DeadlineExceeded): true,
		fmt.Errorf("reading: %w", io.EOF):                   true,
		&net.OpError{Op: "dial", Err: io.ErrClosedPipe}:     true,
		said("57P03"):       true,
		said("53100"):       true, // the disk is full
		said("53300"):       true, // too many connections
		said("25006"):       true, // read-only
		said("25P02"):       false,
		said("23505"):       false,
		errors.New("other"): false,
	} {
		require.Equal(t, want, core.IsDatabaseUnavailable(err), err)
	}
}

// said is an answer of the database.
type said string

func (s said) Error() string     { return string(s) }
func (s said) Field(byte) string { return string(s) }

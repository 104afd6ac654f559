package postgres

import (
	"context"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/driver/pgdriver"
)

// IsIdle returns a function that reports whether a connection is open and has nothing to read.
func IsIdle(conn bun.Conn) (idle func() bool, err error) {
	err = conn.Raw(func(driverConn any) error {
		idle = func() bool { return checkIdle(context.Background(), driverConn.(*pgdriver.Conn)) == nil }
		return nil
	})
	return idle, err
}

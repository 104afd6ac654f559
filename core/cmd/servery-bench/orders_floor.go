package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/servery-hub/servery/core/order"
)

// intakeFloorCommand is the floor of order intake, in a process of its own as the
// hub is: it reads an order as the hub does and stores its row, one INSERT a
// request, with nothing else looked up, worked out, or told. The end of standard input ends it.
type intakeFloorCommand struct {
	Database    string `required:"" help:"Address of the database."`
	Connections int    `required:"" help:"How many connections to it."`
}

// Run serves until standard input ends.
func (c intakeFloorCommand) Run(ctx context.Context) error {
	debug.SetGCPercent(300) // as the hub
	db, err := openFloor(c.Database, c.Connections)
	if err != nil {
		return err
	}
	defer db.close()
	if _, err := db.bun.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS floor_orders (LIKE orders INCLUDING ALL, record bytea NOT NULL);
		CREATE SEQUENCE IF NOT EXISTS floor_order_ids`); err != nil {
		return err
	}
	app := fiber.New(fiber.Config{DisableStartupMessage: true})
	app.Post("/", func(c *fiber.Ctx) error {
		draft, err := order.Decode(c.Body())
		if err != nil {
			return err
		}
		var id int64
		if err := db.bun.QueryRowContext(c.UserContext(), `INSERT INTO floor_orders (business_id, id, platform, platform_order_id, store_id, state,
				is_bulk_order, delivery_type, flags, events, placed_event, placed_by, created_at, updated_at, record)
			VALUES (1, nextval('floor_order_ids'), ?, ?, 1, 'Placed', ?, ?, 0, 1, gen_random_uuid(), 'key:shop', now(), now(), ?) RETURNING id`,
			draft.Platform, draft.PlatformOrderID, draft.Bulk, draft.Carrier, c.Body()).Scan(&id); err != nil {
			return err
		}
		return c.JSON(fiber.Map{"status": "success", "order_id": id})
	})
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	if _, err := fmt.Println(listener.Addr()); err != nil {
		return err
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		_ = app.Shutdown()
	}()
	return app.Listener(listener)
}

// intakeFloor is the floor's process as its parent sees it.
type intakeFloor struct {
	orders  *poster
	process *exec.Cmd
	in      io.WriteCloser
}

// startIntakeFloor runs this program once more as the floor of order intake. It
// has so many connections to the database, and ends with the context, with close,
// or with this process, whichever is first.
func startIntakeFloor(ctx context.Context, database string, connections int) (*intakeFloor, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	f := &intakeFloor{process: exec.CommandContext(ctx, self, "intake-floor", "--database", database, "--connections", strconv.Itoa(connections))}
	f.process.Env, f.process.Stderr = withoutSettings(os.Environ()), os.Stderr
	if f.in, err = f.process.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := f.process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := f.process.Start(); err != nil {
		return nil, fmt.Errorf("starting the floor of order intake: %w", err)
	}
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		f.close()
		return nil, fmt.Errorf("the floor of order intake did not start: %w", err)
	}
	f.orders = newPoster(strings.TrimSpace(address), "/", "", orderConnections)
	return f, nil
}

func (f *intakeFloor) close() {
	if f.orders != nil {
		f.orders.close()
	}
	_ = f.in.Close()
	var ended *exec.ExitError
	if err := f.process.Wait(); err != nil && !errors.As(err, &ended) {
		_ = f.process.Process.Kill()
	}
}

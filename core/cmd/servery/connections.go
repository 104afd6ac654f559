package main

import (
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/servery-hub/servery/core/inbound"
	"github.com/servery-hub/servery/core/internal/hub"
)

// connectionFlags bound the connections of clients.
type connectionFlags struct {
	MaxConnections int           `name:"max-connections" env:"SERVERY_MAX_CONNECTIONS" default:"0" help:"Connections of clients at once; 0: half of the open files that the process may have, at most 2048."`
	MaxPerAddress  int           `name:"max-connections-per-address" env:"SERVERY_MAX_CONNECTIONS_PER_ADDRESS" default:"256" help:"Connections at once of an IPv4 address or of an IPv6 /64; addresses of trusted proxies have no such limit."`
	HeaderTimeout  time.Duration `name:"header-timeout" env:"SERVERY_HEADER_TIMEOUT" default:"10s" help:"How long the header of a request may take."`
	StallTimeout   time.Duration `name:"stall-timeout" env:"SERVERY_STALL_TIMEOUT" default:"10s" help:"How long a client may make no progress with a body or a response before its connection is closed."`
	MinRate        int           `name:"min-rate" env:"SERVERY_MIN_RATE" default:"4096" help:"Bytes a second that bodies and responses which take longer must reach."`
	IdleTimeout    time.Duration `name:"idle-timeout" env:"SERVERY_IDLE_TIMEOUT" default:"90s" help:"How long a connection is kept between two requests."`
}

// reservedFiles are for the database, plugins, logs and outbound connections.
const reservedFiles = 256

// wrong returns the mistakes in the flags, given the process's limit of open files.
func (f connectionFlags) wrong(files int) (mistakes []error) {
	if f.MaxConnections != 0 && (f.MaxConnections < 16 || f.MaxConnections > files-reservedFiles) {
		mistakes = append(mistakes,
			fmt.Errorf("SERVERY_MAX_CONNECTIONS: must be 0 or from 16 to %d, because ulimit -n is %d and %d files "+
				"are reserved", files-reservedFiles, files,
				reservedFiles))
	}
	if f.MaxPerAddress < 1 {
		mistakes = append(mistakes, errors.New("SERVERY_MAX_CONNECTIONS_PER_ADDRESS: must be at least 1"))
	}
	if f.MinRate < 1 {
		mistakes = append(mistakes, errors.New("SERVERY_MIN_RATE: must be at least 1 byte a second"))
	}
	for _, timeout := range []struct {
		name string
		time.Duration
	}{{"HEADER", f.HeaderTimeout}, {"STALL", f.StallTimeout}, {"IDLE", f.IdleTimeout}} {
		if timeout.Duration < 100*time.Millisecond || timeout.Duration > time.Hour {
			mistakes = append(mistakes, fmt.Errorf("SERVERY_%s_TIMEOUT: must be from 100ms to 1h", timeout.name))
		}
	}
	return mistakes
}

// config converts the flags.
func (f connectionFlags) config(trusted []netip.Prefix) hub.Connections {
	most := f.MaxConnections
	if most == 0 {
		most = hub.MaxConnections()
	}
	return hub.Connections{HeaderTimeout: f.HeaderTimeout, IdleTimeout: f.IdleTimeout, Limits: inbound.Config{Max: most,
		PerAddress: f.MaxPerAddress, Trusted: trusted, Stall: f.StallTimeout, MinRate: f.MinRate}}
}

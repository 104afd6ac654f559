package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/hub"
	"github.com/servery-hub/servery/core/internal/postgres/aliases"
	"github.com/servery-hub/servery/core/internal/postgres/platforms"
)

type platformList struct {
	businessFlags
	JSON bool `help:"Print JSON."`
}

// Run lists the platforms, with the names of their secrets.
func (c platformList) Run(ctx context.Context, out output) error {
	return c.withBusiness(ctx, out, func(db *hub.Database) error {
		list, err := platforms.New(db.DB).List(ctx, c.Business)
		if err != nil {
			return err
		}
		all, err := aliases.New(db.DB).ListAliases(ctx, c.Business)
		if err != nil {
			return err
		}
		tokens, err := platforms.NewTokens(db.DB).TokenStates(ctx, c.Business)
		if err != nil {
			return err
		}
		if c.JSON {
			return out.show(true, listedPlatforms(list, all, tokens), "")
		}
		for _, p := range list {
			printPlatform(out.stdout, p, aliasesOf(p.Name, all))
			printTokens(out.stdout, tokensOf(p.Name, tokens))
		}
		return nil
	})
}

func printPlatform(to io.Writer, p platforms.Platform, all []core.PlatformAlias) {
	fmt.Fprintf(to, "%-20s served by %s\n", p.Name, p.ServedBy)
	if len(all) > 0 {
		fmt.Fprintf(to, "%20s aliases %s\n", "", strings.Join(aliasTexts(all), ", "))
	}
	if p.ServedBy != core.ServedByMerchant {
		fmt.Fprintf(to, "%20s orders accepted by %s\n", "", p.Accept)
	}
	if len(p.Settings) > 0 {
		fmt.Fprintf(to, "%20s settings %s\n", "", p.Settings)
	}
	for _, endpoint := range slices.Sorted(maps.Keys(p.Addresses)) {
		fmt.Fprintf(to, "%20s endpoint %s at %s\n", "", endpoint, p.Addresses[endpoint])
	}
	if len(p.Secrets) > 0 {
		fmt.Fprintf(to, "%20s secrets %s\n", "", strings.Join(p.Secrets, ", "))
	}
}

// printTokens prints when access tokens were renewed, and why that fails.
func printTokens(to io.Writer, tokens []platforms.TokenState) {
	for _, s := range tokens {
		name := s.Credential
		if s.Store != "" {
			name += " of store " + s.Store
		}
		if !s.RenewedAt.IsZero() {
			fmt.Fprintf(to, "%20s token %s renewed at %s\n", "", name, s.RenewedAt.UTC().Format(time.RFC3339))
		}
		if !s.FailedAt.IsZero() {
			fmt.Fprintf(to, "%20s token %s failed at %s: %s\n", "", name,
				s.FailedAt.UTC().Format(time.RFC3339), s.Failure)
		}
	}
}

// aliasesOf returns the aliases of one platform.
func aliasesOf(platform string, all []core.PlatformAlias) []core.PlatformAlias {
	return slices.DeleteFunc(slices.Clone(all), func(a core.PlatformAlias) bool { return a.Platform != platform })
}

// tokensOf returns the state of the tokens of one platform.
func tokensOf(platform string, all []platforms.TokenState) []platforms.TokenState {
	return slices.DeleteFunc(slices.Clone(all), func(s platforms.TokenState) bool { return s.Platform != platform })
}

func aliasTexts(aliases []core.PlatformAlias) (list []string) {
	for _, a := range aliases {
		list = append(list, a.String())
	}
	return list
}

// listedPlatforms returns the platforms with the names of the command line.
func listedPlatforms(list []platforms.Platform, all []core.PlatformAlias,
	tokens []platforms.TokenState) []map[string]any {
	out := make([]map[string]any, len(list))
	for i, p := range list {
		out[i] = map[string]any{"name": p.Name, "served_by": p.ServedBy, "endpoints": p.Addresses,
			"secrets": append([]string{}, p.Secrets...), "accept": p.Accept}
		if names := aliasesOf(p.Name, all); len(names) > 0 {
			out[i]["aliases"] = names
		}
		if states := tokensOf(p.Name, tokens); len(states) > 0 {
			out[i]["tokens"] = states
		}
		if len(p.Settings) > 0 {
			out[i]["settings"] = p.Settings
		}
	}
	return out
}

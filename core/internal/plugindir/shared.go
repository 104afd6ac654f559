package plugindir

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres/platforms"
	"github.com/servery-hub/servery/plugins/sdk"
)

// SharedURL is the shared URL of a plugin: its paths, and the secrets of the installation that verify requests there.
type SharedURL struct {
	ID      string   `json:"id"`
	Paths   []string `json:"paths"`
	Secrets []string `json:"secrets"` // names of those that are set
	Missing []string `json:"missing"` // names of those that are not
}

// String returns the paths and the missing secrets, for people.
func (s SharedURL) String() string {
	text := fmt.Sprintf("plugin %s receives the requests of all businesses at:\n%s\n", s.ID,
		strings.Join(s.Paths, "\n"))
	if len(s.Missing) > 0 {
		text += "still missing: " + strings.Join(s.Missing, ", ") + "\n"
	}
	return text
}

// Shared changes the secrets of a plugin's shared URL, and returns its state. An empty value removes a secret. It
// returns Invalid for a secret that verifies no kind of request there.
func (d Dir) Shared(ctx context.Context, id string, secrets map[string]string) (SharedURL, error) {
	shared := SharedURL{ID: id, Paths: []string{}, Missing: []string{}}
	plugin, err := d.Find(ctx, id)
	if err != nil {
		return shared, err
	}
	about := &sdk.Description{}
	if err := proto.Unmarshal(plugin.Description, about); err != nil {
		return shared, fmt.Errorf("reading the stored description of plugin %s: %w", id, err)
	}
	var used []string
	for _, in := range about.GetInbound() {
		if in.GetShared() != nil {
			shared.Paths = append(shared.Paths, sharedPath(id, in.GetKind()))
			used = append(used, in.GetSecret())
		}
	}
	if len(used) == 0 {
		return shared, core.Errorf(core.Invalid, "no hub runs a plugin %s that has a shared URL", id)
	}
	for name := range secrets {
		if !slices.Contains(used, name) {
			return shared, core.Errorf(core.Invalid, "the secret %q verifies no request at the shared URL, only: %v",
				name, used)
		}
	}
	if shared.Secrets, err = platforms.NewShared(d.DB).SetShared(ctx, id, secrets); err != nil {
		return shared, err
	}
	for _, name := range used {
		if !slices.Contains(shared.Secrets, name) && !slices.Contains(shared.Missing, name) {
			shared.Missing = append(shared.Missing, name)
		}
	}
	return shared, nil
}

func sharedPath(plugin, kind string) string {
	return "/channel/api/v1/shared/" + url.PathEscape(plugin) + "/callback/" + url.PathEscape(kind) + "/"
}

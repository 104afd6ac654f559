package hub

import (
	"context"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/aggregator"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/credential"
	"github.com/servery-hub/servery/core/relay"
)

// logins sends merchants to aggregators to log in.
type logins struct {
	host      *aggregator.Host
	platforms relay.Platforms
	sender    relay.Sender
}

// LoginURL returns the URL of the aggregator where the merchant logs in.
func (l logins) LoginURL(ctx context.Context, r console.Login) (string, error) {
	login, err := l.login(ctx, r)
	if err != nil {
		return "", err
	}
	return login.URL()
}

// RefreshToken returns what the aggregator grants for the state and the code of its redirect, and the name of the
// secret that holds it.
func (l logins) RefreshToken(ctx context.Context, r console.Login,
	state, code string) (secret, token string, err error) {
	login, err := l.login(ctx, r)
	if err != nil {
		return "", "", err
	}
	token, err = login.RefreshToken(ctx, l.sender, state, code)
	return login.Request.OAuth2.RefreshToken, token, err
}

func (l logins) login(ctx context.Context, r console.Login) (login credential.Login, err error) {
	declared, err := l.host.Credential(r.Platform.ServedBy, r.Credential)
	if err != nil {
		return login, err
	}
	if declared.OAuth2 == nil {
		return login, core.Errorf(core.Invalid, "the credential %q has no login", r.Credential)
	}
	access, err := l.platforms.Access(ctx, r.Business, r.Platform.Name)
	return credential.Login{Secret: r.Secret, Back: r.Back, Request: relay.TokenRequest{Business: r.Business,
		Platform: r.Platform.Name, Credential: r.Credential, OAuth2: declared.OAuth2, Access: access}}, err
}

package pluginhost

import (
	"context"
	"errors"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/plugins/sdk"
)

// Decision is a decision, with the description of the process that made it. During an upgrade the plugin may already
// have another description.
type Decision struct {
	*sdk.Decision
	Description *sdk.Description
}

// Translation is a translation, with the description of the process that made it.
type Translation struct {
	*sdk.Translation
	Description *sdk.Description
}

// requestDecision requests a decision. If a running plugin times out or crashes, the error is Internal: a failure of
// this call, and no reason to wait for the plugin. A request that is set aside is Invalid, because a retry is useless.
func requestDecision(ctx context.Context, p Plugin, r request,
	do func(context.Context, *sdk.Client) (*sdk.Decision, error)) (d Decision, err error) {
	d.Decision, err = invoke(ctx, p, r, func(ctx context.Context, i *instance) (*sdk.Decision, error) {
		d.Description = i.description
		return do(ctx, i.client)
	})
	return d, planError(err)
}

// planError returns the error of a decision, as requestDecision describes it.
func planError(err error) error {
	switch {
	case errors.As(err, new(timeoutError)), errors.As(err, new(crashError)):
		return withCode(core.Internal, err)
	case errors.As(err, new(setAsideError)):
		return withCode(core.Invalid, err)
	}
	return err
}

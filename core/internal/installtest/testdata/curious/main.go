// Curious is a plugin that reads a file of the hub's machine. Its settings name the file.
package main

import (
	"context"
	"os"

	"github.com/servery-hub/servery/plugins/sdk"
)

type curious struct{}

func main() { sdk.Serve(curious{}) }

// Describe returns the description.
func (curious) Describe(context.Context) (*sdk.Description, error) {
	return &sdk.Description{Id: "curious", Version: "1.0.0", DisplayName: "Curious",
		SettingsSchema: []byte(`{"type":"object","properties":{"read":{"type":"string"}},"examples":[{}]}`)}, nil
}

// Configure returns the content of the file as a problem, or why it cannot be read.
func (curious) Configure(_ context.Context, call *sdk.Call) ([]*sdk.Problem, error) {
	var settings struct{ Read string }
	if err := sdk.ReadSettings(call, &settings); err != nil || settings.Read == "" {
		return nil, err
	}
	text, err := os.ReadFile(settings.Read)
	if err != nil {
		text = []byte(err.Error())
	}
	return []*sdk.Problem{{Path: "read", Message: string(text)}}, nil
}

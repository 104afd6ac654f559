// Regional is a plugin with a required setting, and a rule of its own.
package main

import (
	"context"
	"os"

	pb "github.com/servery-hub/servery/plugins/proto"
	"github.com/servery-hub/servery/plugins/sdk"
)

type regional struct{}

func main() { sdk.Serve(regional{}) }

const settingsSchema = `{"type": "object", "additionalProperties": false, "required": ["region", "depth"],
	"properties": {
	"region": {"type": "string", "enum": ["eu", "us", "7"]},
	"depth": {"type": "integer", "minimum": 1, "maximum": 3},
	"token": {"type": "string", "writeOnly": true}
}, "examples": [{"region": "eu", "depth": 1}]}`

// Describe returns the description.
func (regional) Describe(context.Context) (*sdk.Description, error) {
	return &sdk.Description{
		Id: "regional", Version: "1.0.0", DisplayName: "Regional", SettingsSchema: []byte(settingsSchema),
		Secrets: []*pb.Secret{{Name: "api_key"}}, Limits: &pb.Limits{MemoryMb: 128, InFlight: 4},
	}, nil
}

// CheckItems has no rules.
func (regional) CheckItems(context.Context, *sdk.Call, []*sdk.Item) ([]*sdk.Finding, error) {
	return nil, nil
}

// Configure rejects the settings of one platform.
func (regional) Configure(_ context.Context, call *sdk.Call) ([]*sdk.Problem, error) {
	switch call.GetPlatform() {
	case "closed":
		return []*sdk.Problem{{Path: "region", Message: "is closed for this platform"}}, nil
	case "aborts":
		os.Exit(3)
	case "broken":
		panic("the platform is unknown")
	}
	return nil, nil
}

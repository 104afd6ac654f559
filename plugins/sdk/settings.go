package sdk

import (
	"encoding/json"
	"strings"

	pb "github.com/servery-hub/servery/plugins/proto"
)

// ReadSettings decodes the settings of a call into a struct. They were validated by the schema when they were set.
// Without settings the struct is unchanged.
func ReadSettings(call *Call, into any) error {
	if len(call.GetSettings()) == 0 {
		return nil
	}
	if err := json.Unmarshal(call.GetSettings(), into); err != nil {
		return Refusef("settings of platform %s: %v", call.GetPlatform(), err)
	}
	return nil
}

// ReadParameters decodes the parameters of an action into a struct. They are valid by its parameters_schema. Without
// parameters the struct is unchanged.
func ReadParameters(request *pb.ActionRequest, into any) error {
	if len(request.GetParameters()) == 0 {
		return nil
	}
	if err := json.Unmarshal(request.GetParameters(), into); err != nil {
		return Refusef("parameters of %s: %v", request.GetAction(), err)
	}
	return nil
}

// CheckSettings validates settings by a description's schema, and returns the problems. Without a schema every object
// is valid. Empty settings count as an empty object.
func CheckSettings(schema, settings []byte) ([]*Problem, error) {
	checker, err := newSchemaChecker(settingsField, schema)
	return checker.checkSettings(settings), err
}

const settingsField = "settings_schema"

// checkSettings returns the problems of settings. Empty settings count as an empty object.
func (s schemaChecker) checkSettings(settings []byte) (problems []*Problem) {
	members, wrong := decodeObject(settings)
	if wrong != "" {
		return []*Problem{{Message: wrong}}
	}
	for _, failure := range s.failures(members) {
		problems = append(problems,
			&Problem{Path: strings.Join(failure.InstanceLocation, "."), Message: schemaRule(failure)})
	}
	return problems
}

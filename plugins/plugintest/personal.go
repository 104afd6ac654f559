package plugintest

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"net/url"
	"regexp"
	"strings"

	"google.golang.org/protobuf/proto"

	pb "github.com/servery-hub/servery/plugins/proto"
)

// Names of fields with personal data, and of objects whose name is that of a person.
var (
	personalField = regexp.MustCompile(`(?i)phone|mobile|e-?mail|address|street|landmark`)
	personObject  = regexp.MustCompile(`(?i)customer|rider|courier|driver|recipient|buyer|guest|user|contact`)
)

// minPersonalValue is the minimum length of a value to look for. A shorter one can be in a log by chance.
const minPersonalValue = 5

// personalValues returns the values of fields with personal data in the body of a request, with the names of the
// fields. It reads JSON, XML and forms.
func personalValues(message proto.Message) map[string]string {
	var request interface{ GetBody() []byte }
	switch m := message.(type) {
	case *pb.TranslateRequest:
		request = m.GetRequest()
	case *pb.TranslateFetchedRequest:
		request = m.GetResponse()
	case *pb.InterpretCallbackRequest:
		request = m.GetRequest()
	default:
		request = (*pb.InboundRequest)(nil)
	}
	found, text := map[string]string{}, bytes.TrimSpace(request.GetBody())
	var body any
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber() // a phone number can be a number
	switch {
	case decoder.Decode(&body) == nil:
		collectPersonal(body, "", found)
	case bytes.HasPrefix(text, []byte("<")):
		collectElements(text, found)
	default:
		form, _ := url.ParseQuery(string(text)) // with an error it has the valid fields
		for name, values := range form {
			for _, value := range values {
				collectValue(value, name, found)
			}
		}
	}
	return found
}

// collectPersonal adds the values of a JSON body.
func collectPersonal(value any, path string, found map[string]string) {
	switch value := value.(type) {
	case map[string]any:
		for name, member := range value {
			collectPersonal(member, strings.TrimPrefix(path+"."+name, "."), found)
		}
	case []any:
		for _, element := range value {
			collectPersonal(element, path, found)
		}
	case string:
		collectValue(value, path, found)
	case json.Number:
		collectValue(value.String(), path, found)
	}
}

// collectElements adds the values of an XML body up to its first error.
func collectElements(text []byte, found map[string]string) {
	var path []string
	decoder := xml.NewDecoder(bytes.NewReader(text))
	for {
		token, err := decoder.Token()
		if err != nil {
			return
		}
		switch token := token.(type) {
		case xml.StartElement:
			path = append(path, token.Name.Local)
			for _, attribute := range token.Attr {
				collectValue(attribute.Value, strings.Join(append(path, attribute.Name.Local), "."), found)
			}
		case xml.EndElement:
			path = path[:len(path)-1]
		case xml.CharData:
			collectValue(string(bytes.TrimSpace(token)), strings.Join(path, "."), found)
		}
	}
}

// collectValue adds a value if the path of its field is that of personal data.
func collectValue(value, path string, found map[string]string) {
	parent, name := "", path
	if at := strings.LastIndex(path, "."); at >= 0 {
		parent, name = path[:at], path[at+1:]
	}
	person := personObject.MatchString(parent+name) && strings.Contains(strings.ToLower(name), "name")
	if len(value) >= minPersonalValue && (person || personalField.MatchString(path)) {
		found[value] = path
	}
}

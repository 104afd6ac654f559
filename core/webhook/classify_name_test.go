package webhook

import (
	"net"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestInternalNamesLookLikeUnknownOnes(t *testing.T) {
	failed := func(err error) (ErrorClass, string) {
		return classify(&url.Error{Op: "Post", URL: "https://POS.internal:8443/hook", Err: err}, SenderConfig{}, false)
	}
	internal, words := failed(&net.OpError{Op: "dial", Net: "tcp", Err: errRefused})
	unknown, others := failed(&net.OpError{Op: "dial", Net: "tcp",
		Err: &net.DNSError{Name: "pos.internal", IsNotFound: true}})
	require.Equal(t, unknown, internal)
	require.Equal(t, others, words)
	require.Equal(t, "the server name POS.internal was not found on the public internet", words)

	class, words := classify(&url.Error{URL: "https://[fd00::1]/", Err: &net.OpError{Op: "dial", Err: errRefused}},
		SenderConfig{}, false)
	require.Equal(t, AddressRefused, class)
	require.Equal(t, errRefused.Error(), words)
}

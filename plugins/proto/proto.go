// Package pb is the protocol between the hub and its plugins: package
// servery.plugin.v1, generated from the .proto files below this directory.
package pb

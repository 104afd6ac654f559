// Package examples tests the example plugins, each of which is a module of its own.
package examples

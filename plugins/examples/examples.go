// Package examples tests the example plugins. Each is a separate module.
package examples

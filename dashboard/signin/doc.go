// Package signin knows who may use a dashboard: passwords as argon2id hashes
// in the PHC string format, and a limit on attempts to guess them.
package signin

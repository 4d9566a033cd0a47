package queue

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Options say where the server is and how it is reached.
type Options struct {
	// URL is one of
	//
	//	redis://[user[:password]@]host[:port][/db]
	//	unix://[user[:password]@]/path[?db=n]
	//	redis-sentinel://[user[:password]@]host:port[/db]?master_name=NAME[&addr=host:port...]
	//	redis-cluster://[user[:password]@]host:port[?addr=host:port...]
	//
	// With rediss for redis the connection is TLS. The parameters ca, cert and
	// key name PEM files: the issuers to trust instead of the system's, and the
	// client's own certificate. Others are go-redis's, as dial_timeout.
	URL string
	// Password stands in for the one in the URL, so that it can come from a
	// file or the environment.
	Password string
	// PoolSize is the largest number of connections to a server; 0 is ten per
	// core.
	PoolSize int
}

// ErrOptions is the error for options that name no server.
var ErrOptions = errors.New("bad Redis address")

// open makes a client of the kind that the URL names. Errors never show the
// URL: there may be a password in it.
func (o Options) open() (client redis.UniversalClient, name string, err error) {
	scheme, rest, ok := strings.Cut(o.URL, "://")
	if !ok {
		return nil, "", fmt.Errorf("%w: want redis://HOST:PORT, rediss://HOST:PORT or unix:///PATH", ErrOptions)
	}
	u, err := url.Parse(o.URL)
	if err != nil {
		return nil, "", fmt.Errorf("%w: it is not a URL (reserved characters in a password must be escaped)", ErrOptions)
	}
	secure, plain := strings.HasPrefix(scheme, "rediss"), strings.Replace(scheme, "rediss", "redis", 1)
	q := u.Query()
	files := map[string]string{}
	for _, k := range []string{"ca", "cert", "key"} {
		files[k] = q.Get(k)
		if q.Has(k) && !secure {
			return nil, "", fmt.Errorf("%w: the parameter %s is for TLS; write rediss for redis", ErrOptions, k)
		}
		q.Del(k)
	}
	before, _, _ := strings.Cut(rest, "?")
	address := "redis"
	if secure {
		address = "rediss"
	}
	if plain == "unix" {
		address = "unix"
	}
	address += "://" + before
	if len(q) > 0 {
		address += "?" + q.Encode()
	}
	switch plain {
	case "redis", "unix":
		var opt *redis.Options
		if opt, err = redis.ParseURL(address); err == nil {
			opt.Password = o.password(opt.Password)
			opt.PoolSize, opt.DisableIdentity = o.PoolSize, true
			opt.MaintNotificationsConfig = noNotifications()
			err = addFiles(opt.TLSConfig, files)
			client, name = redis.NewClient(opt), opt.Network+":"+opt.Addr
		}
	case "redis-sentinel":
		var opt *redis.FailoverOptions
		if opt, err = redis.ParseFailoverURL(address); err == nil {
			if opt.MasterName == "" {
				return nil, "", fmt.Errorf("%w: redis-sentinel needs the parameter master_name", ErrOptions)
			}
			opt.Password = o.password(opt.Password)
			opt.PoolSize, opt.DisableIdentity = o.PoolSize, true
			err = addFiles(opt.TLSConfig, files)
			client, name = redis.NewFailoverClient(opt), "sentinel:"+strings.Join(opt.SentinelAddrs, ",")+"/"+opt.MasterName
		}
	case "redis-cluster":
		var opt *redis.ClusterOptions
		if opt, err = redis.ParseClusterURL(address); err == nil {
			opt.Password = o.password(opt.Password)
			opt.PoolSize, opt.DisableIdentity = o.PoolSize, true
			opt.MaintNotificationsConfig = noNotifications()
			err = addFiles(opt.TLSConfig, files)
			client, name = redis.NewClusterClient(opt), "cluster:"+strings.Join(opt.Addrs, ",")
		}
	default:
		return nil, "", fmt.Errorf("%w: unknown scheme %.20q, want redis, rediss, unix, redis-sentinel or redis-cluster", ErrOptions, scheme)
	}
	if err != nil {
		if client != nil {
			client.Close()
		}
		// go-redis names the part that is wrong, not its content, but for
		// query parameters, which hold no secrets.
		return nil, "", fmt.Errorf("%w: %s", ErrOptions, strings.TrimPrefix(err.Error(), "redis: "))
	}
	return client, name, nil
}

func (o Options) password(inURL string) string {
	if o.Password != "" {
		return o.Password
	}
	return inURL
}

func noNotifications() *maintnotifications.Config {
	return &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
}

// addFiles reads the PEM files that the parameters name.
func addFiles(c *tls.Config, files map[string]string) error {
	if c == nil {
		return nil
	}
	if f := files["ca"]; f != "" {
		pem, err := os.ReadFile(f)
		if err != nil {
			return err
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return fmt.Errorf("%s holds no certificate in PEM form", f)
		}
	}
	if files["cert"] == "" && files["key"] == "" {
		return nil
	}
	pair, err := tls.LoadX509KeyPair(files["cert"], files["key"])
	if err != nil {
		return fmt.Errorf("cert and key: %w", err)
	}
	c.Certificates = []tls.Certificate{pair}
	return nil
}

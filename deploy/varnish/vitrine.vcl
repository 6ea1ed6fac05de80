vcl 4.1;
# Varnish 7 as a shared cache in front of several Vitrine servers. docs/operate/cdn.md explains it; the tests run this file.
# Change the addresses of the servers (their names are in three places), and who may purge. If you do not have three servers, also
# change the number of retries in vcl_backend_error (one for each server). From five servers on also raise -p max_retries (4).

import std;
import directors;

probe ready {
  .request = "GET /readyz HTTP/1.1" "Host: vitrine" "Connection: close";
  # A stopping server reports it 0.75 s before it closes its listener.
  .interval = 500ms;
  .timeout = 2s;
  .window = 3;
  .threshold = 2;
  .initial = 2;
}

backend vitrine1 { .host = "10.0.0.11"; .port = "3000"; .probe = ready; .connect_timeout = 500ms; .first_byte_timeout = 1500ms; .between_bytes_timeout = 1s; }
backend vitrine2 { .host = "10.0.0.12"; .port = "3000"; .probe = ready; .connect_timeout = 500ms; .first_byte_timeout = 1500ms; .between_bytes_timeout = 1s; }
backend vitrine3 { .host = "10.0.0.13"; .port = "3000"; .probe = ready; .connect_timeout = 500ms; .first_byte_timeout = 1500ms; .between_bytes_timeout = 1s; }

sub vcl_init {
  new servers = directors.round_robin();
  servers.add_backend(vitrine1);
  servers.add_backend(vitrine2);
  servers.add_backend(vitrine3);
}

# Who may purge and see the pages for operators. Requests through another proxy get 403 or 404: see vitrine_purge.
acl purgers {
  "127.0.0.1"/32;
}

sub vcl_recv {
  # No valid request has a #. The server rejects it as well.
  if (req.url ~ "#") { return (synth(400)); }
  set req.backend_hint = servers.backend();
  if (req.restarts == 0) { unset req.http.X-Vitrine-Rescue; }
  unset req.http.X-Vitrine-Surface;

  if (req.url ~ "(?i)^/fragments/") { set req.http.X-Vitrine-Surface = "fragment"; }
  else if (req.url ~ "(?i)^/embeds/") { set req.http.X-Vitrine-Surface = "embed"; }
  else if (req.url ~ "^/(assets/|accents/|embed\.js|favicon\.ico)") { set req.http.X-Vitrine-Surface = "asset"; }
  call vitrine_key;

  if (req.method == "PURGE" || req.method == "BAN") { call vitrine_purge; }
  if (req.method != "GET" && req.method != "HEAD") { return (synth(405)); }
  # Pages for operators, not for visitors, in any spelling. No address of ours has a % in its first segment.
  if (req.url ~ "(?i)^/+((studio|metrics|readyz|healthz)([/?]|$)|[^/?]*%)" && (client.ip !~ purgers || req.http.X-Forwarded-For ~ ",")) {
    return (synth(404));
  }
  # /go/, /oembed and everything else: never cached.
  if (!req.http.X-Vitrine-Surface) { return (pass); }

  # Responses do not depend on these headers. Without Range, the cache always gets whole boxes.
  unset req.http.Cookie;
  unset req.http.Authorization;
  unset req.http.Range;
  # The server counts embeds of readers by their agent and page: not of bots or the studio. Long headers would be a 431.
  if (req.http.X-Vitrine-Surface == "embed") {
    set req.http.Referer = regsub(req.http.Referer, "^(.{512}).*$", "\1");
    set req.http.User-Agent = regsub(req.http.User-Agent, "^(.{512}).*$", "\1");
  } else {
    unset req.http.Referer;
    unset req.http.User-Agent;
  }
  # The server queues grids by visitor (VITRINE_TRUST_PROXY=1). Responses do not depend on it.
  set req.http.X-Forwarded-For = client.ip;
  # Makes a server without its database return 503 instead of an empty box, so that another one is tried.
  set req.http.Vitrine-Require = "database";
  # With a healthy server grace is stale-while-revalidate, otherwise stale-if-error. The server limits both to the price age.
  if (std.healthy(req.backend_hint) && !req.http.X-Vitrine-Rescue) { set req.grace = 600s; } else { set req.grace = 7d; }
  return (hash);
}

# Keep only the options that the server reads, sorted, so that utm_source and the like do not split the cache. An encoded name
# (%74heme) stays, because the server reads it as well.
sub vitrine_key {
  if (req.http.X-Vitrine-Surface == "asset") {
    set req.url = regsub(req.url, "\?.*$", "");
  } else if (req.http.X-Vitrine-Surface && req.url ~ "\?") {
    set req.http.X-Vitrine-Query = regsub(req.url, "^[^?]*\?", "&");
    set req.http.X-Vitrine-Query = regsuball(req.http.X-Vitrine-Query,
      "&(?!(?:theme|accent|locale|currency|stock|merchant|exclude|isolate|css|head|heading|sub|layout|limit|history|else|markup|label|page|sort|evidence|min_discount|max_price|brand|q)(?:[=&]|$)|[^=&]*[%+])[^&]*", "");
    set req.url = regsub(req.url, "\?.*$", "") + regsub(req.http.X-Vitrine-Query, "^&", "?");
    # Labels are for the products in their order, so they must not be sorted.
    if (req.url !~ "(?i)[?&](label|[^=&]*%[^=&]*)(=|&|$)") { set req.url = std.querysort(req.url); }
    unset req.http.X-Vitrine-Query;
  }
}

sub vcl_hash {
  hash_data(req.url);
  # Responses do not depend on Host: one cache entry for all names of the server.
  if (req.http.X-Vitrine-Surface) { return (lookup); }
}

# PURGE /fragments/…            this address, in every encoding
# BAN / with X-Vitrine-Tag      every response with the tag: channel-{id}, product-{gtin}, box-{id}-{gtin}, deals-{id}, vitrine
sub vitrine_purge {
  # A proxy on this machine, for example for TLS, may purge but its visitors may not: their X-Forwarded-For lists two addresses.
  if (client.ip !~ purgers || req.http.X-Forwarded-For ~ ",") { return (synth(403)); }
  if (req.method == "PURGE") { return (purge); }
  if (req.http.X-Vitrine-Tag !~ "^(vitrine|(channel|deals)-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|product-[0-9]{14}|box-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}-[0-9]{14})$") {
    return (synth(400));
  }
  # Only obj.*, so that the ban lurker also removes responses that are not requested again.
  ban("obj.http.X-Vitrine-Tags ~ (^|,)" + req.http.X-Vitrine-Tag + "(,|$)");
  # With vmod-xkey and VITRINE_CACHE_TAG_HEADER=xkey, instead of ban(): xkey.purge(req.http.X-Vitrine-Tag);
  return (synth(200));
}

sub vcl_backend_fetch {
  # Retry each server by name, because other requests also advance the round robin. A server known to be down costs no time.
  if (bereq.retries == 1) { set bereq.backend = vitrine1; }
  if (bereq.retries == 2) { set bereq.backend = vitrine2; }
  if (bereq.retries == 3) { set bereq.backend = vitrine3; }
}

sub vcl_backend_response {
  if (!bereq.http.X-Vitrine-Surface) { return (deliver); }
  # Vitrine itself returns 200, 304, 400 or 404 here, or 503 without its database.
  if (beresp.status >= 500) { return (error(503)); }
  if (beresp.http.Vitrine-State == "unavailable") {
    # An empty box because of a failure. Keep a cached response instead: see vcl_synth.
    if (bereq.is_bgfetch || !bereq.http.X-Vitrine-Rescue) { return (abandon); }
    # Nothing is cached. Hit-for-miss: visitors of the next seconds do not wait for each other.
    set beresp.uncacheable = true;
    set beresp.ttl = 5s;
    set beresp.grace = 0s;
    set beresp.keep = 0s;
    return (deliver);
  }
  call vitrine_tags;
  if (beresp.http.Cache-Control ~ "stale-if-error=") {
    set beresp.grace = std.duration(regsub(beresp.http.Cache-Control, "^.*stale-if-error=([0-9]+).*$", "\1s"), 0s);
  }
  # Keep the response after that only for revalidation.
  set beresp.keep = 1h;
}

# Tags from the server's header (VITRINE_CACHE_TAG_HEADER, any of the four names), otherwise from the address.
sub vitrine_tags {
  set beresp.http.X-Vitrine-Tags = regsuball(beresp.http.Surrogate-Key + beresp.http.xkey + beresp.http.Cache-Tag + beresp.http.Edge-Cache-Tag, "[ ,]+", ",");
  if (beresp.http.X-Vitrine-Tags == "" && bereq.http.X-Vitrine-Surface != "asset") {
    set beresp.http.X-Vitrine-Channel = std.tolower(regsub(bereq.url, "^/[^/]+/([0-9A-Fa-f-]{36})/.*$", "\1"));
    set beresp.http.X-Vitrine-Tags = "vitrine,channel-" + beresp.http.X-Vitrine-Channel;
    if (bereq.url ~ "(?i)/deals/?(\?|$)") {
      set beresp.http.X-Vitrine-Tags = beresp.http.X-Vitrine-Tags + ",deals-" + beresp.http.X-Vitrine-Channel;
    } else if (bereq.url ~ "(?i)/(where-to-buy|picks)/[0-9]([0-9,~]|%2c|%7e)*(\?|$)") {
      # Variants, products of a round-up, and stand-ins, padded to 14 digits.
      set beresp.http.X-Vitrine-Gtins = regsub(bereq.url, "^[^?]*/([^/?]+)(\?.*)?$", "\1");
      if (bereq.url ~ "[?&]else=") {
        set beresp.http.X-Vitrine-Gtins = beresp.http.X-Vitrine-Gtins + "," + regsub(bereq.url, "^.*[?&]else=([^&]*).*$", "\1");
      }
      set beresp.http.X-Vitrine-Gtins = regsuball(beresp.http.X-Vitrine-Gtins, "(?i)[,~]|%2c|%7e", ",");
      set beresp.http.X-Vitrine-Gtins = regsuball(beresp.http.X-Vitrine-Gtins, "(^|,)([0-9]+)", "\10000000000000\2");
      set beresp.http.X-Vitrine-Tags = beresp.http.X-Vitrine-Tags + regsuball(beresp.http.X-Vitrine-Gtins,
        ",?0*([0-9]{14})(?=,|$)", ",product-\1,box-" + beresp.http.X-Vitrine-Channel + "-\1");
    }
    unset beresp.http.X-Vitrine-Channel;
    unset beresp.http.X-Vitrine-Gtins;
  }
}

# Connection refused or reset, timeout, or a 5xx of a proxy in between.
sub vcl_backend_error {
  # Try every server before failing: 3 for three servers.
  if (bereq.retries < 3 && !bereq.http.X-Vitrine-Rescue) { return (retry); }
  # Keep the cached response: see vcl_synth.
  if (bereq.is_bgfetch || (bereq.http.X-Vitrine-Surface && !bereq.http.X-Vitrine-Rescue)) { return (abandon); }
  # Nothing is cached: try again after a second, not for each visitor.
  if (bereq.http.X-Vitrine-Surface) { set beresp.ttl = 1s; } else { set beresp.ttl = 0s; }
  set beresp.grace = 0s;
  set beresp.keep = 0s;
  set beresp.http.Cache-Control = "no-store";
  if (bereq.http.X-Vitrine-Surface ~ "fragment|embed") {
    # Readers see an empty box instead of an error, as from the server itself.
    set beresp.status = 200;
    set beresp.http.Content-Type = "text/html; charset=utf-8";
    set beresp.http.Vitrine-State = "unavailable";
    synthetic("");
  } else {
    set beresp.status = 503;
    set beresp.http.Retry-After = "5";
    set beresp.http.Content-Type = "text/plain; charset=utf-8";
    synthetic("No server responds.");
  }
  return (deliver);
}

sub vcl_deliver {
  if (req.http.X-Vitrine-Surface) {
    if (obj.hits > 0) { set resp.http.Cache-Status = resp.http.Cache-Status + ", varnish; hit"; }
    else { set resp.http.Cache-Status = resp.http.Cache-Status + ", varnish; fwd=miss"; }
    set resp.http.Cache-Status = regsub(resp.http.Cache-Status, "^, ", "");
    # stale-while-revalidate is for this cache; a browser would add the time again. Keep it for a CDN in front of this cache.
    set resp.http.Cache-Control = regsub(resp.http.Cache-Control, ", *stale-while-revalidate=[0-9]+", "");
  }
  unset resp.http.X-Vitrine-Tags;
  # Tags are for this cache, not for visitors. Keep them if a CDN in front of this cache purges by them.
  unset resp.http.Surrogate-Key;
  unset resp.http.xkey;
  unset resp.http.Cache-Tag;
  unset resp.http.Edge-Cache-Tag;
}

sub vcl_synth {
  # No new response, although the servers looked healthy: restart once and accept stale responses within stale-if-error.
  if (req.http.X-Vitrine-Surface && resp.status == 503 && req.restarts == 0) {
    set req.http.X-Vitrine-Rescue = "1";
    return (restart);
  }
  if (resp.status == 405) { set resp.http.Allow = "GET, HEAD"; }
  set resp.http.Content-Type = "text/plain; charset=utf-8";
  set resp.http.Cache-Control = "no-store";
  synthetic(resp.status + " " + resp.reason + {"
"});
  return (deliver);
}

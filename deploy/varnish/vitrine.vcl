vcl 4.1;
# Varnish 7 as a shared cache in front of several Vitrine servers. docs/operate/cdn.md explains it; test/system/front runs this very file.
# Change: the addresses of the servers (their names stand in three places), and who may purge. With another number of servers than
# three also the tries in vcl_backend_error (as many retries as servers), and from five on -p max_retries, which is 4.

import std;
import directors;

probe ready {
  .request = "GET /readyz HTTP/1.1" "Host: vitrine" "Connection: close";
  # A server that stops says so 0.75 s before it closes its door.
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
  new fleet = directors.round_robin();
  fleet.add_backend(vitrine1);
  fleet.add_backend(vitrine2);
  fleet.add_backend(vitrine3);
}

# Who may purge, and see what is for operators. What comes through another proxy is refused whatever its address: see below.
acl purgers {
  "127.0.0.1"/32;
}

sub vcl_recv {
  # No address that is requested has one. The server refuses it, too.
  if (req.url ~ "#") { return (synth(400)); }
  set req.backend_hint = fleet.backend();
  if (req.restarts == 0) { unset req.http.X-Vitrine-Rescue; }
  unset req.http.X-Vitrine-Surface;

  if (req.url ~ "(?i)^/fragments/") { set req.http.X-Vitrine-Surface = "fragment"; }
  else if (req.url ~ "(?i)^/embeds/") { set req.http.X-Vitrine-Surface = "embed"; }
  else if (req.url ~ "^/(assets/|accents/|embed\.js|favicon\.ico)") { set req.http.X-Vitrine-Surface = "asset"; }
  call vitrine_key;

  if (req.method == "PURGE" || req.method == "BAN") { call vitrine_purge; }
  if (req.method != "GET" && req.method != "HEAD") { return (synth(405)); }
  # For operators, not for visitors, however it is spelled: a first word with a % in it is none of ours.
  if (req.url ~ "(?i)^/+((studio|metrics|readyz|healthz)([/?]|$)|[^/?]*%)" && (client.ip !~ purgers || req.http.X-Forwarded-For ~ ",")) {
    return (synth(404));
  }
  # /go/, /oembed and everything else: never kept.
  if (!req.http.X-Vitrine-Surface) { return (pass); }

  # No answer depends on these, and a part of a box is no box.
  unset req.http.Cookie;
  unset req.http.Authorization;
  unset req.http.Range;
  unset req.http.Referer;
  unset req.http.User-Agent;
  # So that one visitor's grids do not keep others waiting (VITRINE_TRUST_PROXY=1). No answer depends on it.
  set req.http.X-Forwarded-For = client.ip;
  # One that cannot reach its database says 503 in place of an empty box: another one may have it.
  set req.http.Vitrine-Require = "database";
  # While a server is well: stale-while-revalidate. Grace itself is stale-if-error, and both are cut to the age of the price.
  if (std.healthy(req.backend_hint) && !req.http.X-Vitrine-Rescue) { set req.grace = 600s; } else { set req.grace = 7d; }
  return (hash);
}

# Of the query, what the server reads, in one order: utm_source and its like split nothing. A name that is written in
# another way (%74heme) stays, since the server reads it, too.
sub vitrine_key {
  if (req.http.X-Vitrine-Surface == "asset") {
    set req.url = regsub(req.url, "\?.*$", "");
  } else if (req.http.X-Vitrine-Surface && req.url ~ "\?") {
    set req.http.X-Vitrine-Query = regsub(req.url, "^[^?]*\?", "&");
    set req.http.X-Vitrine-Query = regsuball(req.http.X-Vitrine-Query,
      "&(?!(?:theme|accent|locale|currency|stock|merchant|exclude|isolate|css|layout|limit|markup|page|sort|min_discount|max_price|brand|q)(?:[=&]|$)|[^=&]*[%+])[^&]*", "");
    set req.url = regsub(req.url, "\?.*$", "") + regsub(req.http.X-Vitrine-Query, "^&", "?");
    set req.url = std.querysort(req.url);
    unset req.http.X-Vitrine-Query;
  }
}

sub vcl_hash {
  hash_data(req.url);
  # No answer depends on the host that was asked: one copy for all names of the server.
  if (req.http.X-Vitrine-Surface) { return (lookup); }
}

# PURGE /fragments/…            this address, in every encoding
# BAN / with X-Vitrine-Tag      every answer with the tag: channel-{id}, product-{gtin}, box-{id}-{gtin}, deals-{id}, vitrine
sub vitrine_purge {
  # A proxy on this machine (for TLS, say) has an address that may purge, and its visitors must not: it makes a list of two.
  if (client.ip !~ purgers || req.http.X-Forwarded-For ~ ",") { return (synth(403)); }
  if (req.method == "PURGE") { return (purge); }
  if (req.http.X-Vitrine-Tag !~ "^(vitrine|(channel|deals)-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|product-[0-9]{14}|box-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}-[0-9]{14})$") {
    return (synth(400));
  }
  # Only obj.*: then answers that nobody asks for again are thrown away, too.
  ban("obj.http.X-Vitrine-Tags ~ (^|,)" + req.http.X-Vitrine-Tag + "(,|$)");
  # With vmod-xkey and VITRINE_CACHE_TAG_HEADER=xkey in the place of ban(): xkey.purge(req.http.X-Vitrine-Tag);
  return (synth(200));
}

sub vcl_backend_fetch {
  # Retries ask each server by its name: whose turn it is, others may have taken meanwhile. One that is known to fail costs no time.
  if (bereq.retries == 1) { set bereq.backend = vitrine1; }
  if (bereq.retries == 2) { set bereq.backend = vitrine2; }
  if (bereq.retries == 3) { set bereq.backend = vitrine3; }
}

sub vcl_backend_response {
  if (!bereq.http.X-Vitrine-Surface) { return (deliver); }
  # Not Vitrine's: it answers 200, 304, 400 or 404 here.
  if (beresp.status >= 500) { return (error(503)); }
  if (beresp.http.Vitrine-State == "unavailable") {
    # A failure in the form of an empty box. A kept copy is better, and stays: see vcl_synth.
    if (bereq.is_bgfetch || !bereq.http.X-Vitrine-Rescue) { return (abandon); }
    # There is none. Hit-for-miss: visitors of the next seconds do not queue up for each other.
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
  # After that only to ask whether it is still the same.
  set beresp.keep = 1h;
}

# The tags of the server (VITRINE_CACHE_TAG_HEADER), whichever of the four it is; else those that the address tells.
sub vitrine_tags {
  set beresp.http.X-Vitrine-Tags = regsuball(beresp.http.Surrogate-Key + beresp.http.xkey + beresp.http.Cache-Tag + beresp.http.Edge-Cache-Tag, "[ ,]+", ",");
  if (beresp.http.X-Vitrine-Tags == "" && bereq.http.X-Vitrine-Surface != "asset") {
    set beresp.http.X-Vitrine-Channel = std.tolower(regsub(bereq.url, "^/[^/]+/([0-9A-Fa-f-]{36})/.*$", "\1"));
    set beresp.http.X-Vitrine-Tags = "vitrine,channel-" + beresp.http.X-Vitrine-Channel;
    if (bereq.url ~ "(?i)/deals/?(\?|$)") {
      set beresp.http.X-Vitrine-Tags = beresp.http.X-Vitrine-Tags + ",deals-" + beresp.http.X-Vitrine-Channel;
    } else if (bereq.url ~ "(?i)/where-to-buy/[0-9]{1,14}(\?|$)") {
      set beresp.http.X-Vitrine-Gtin = regsub("0000000000000" + regsub(bereq.url, "^.*/([0-9]{1,14})(\?.*)?$", "\1"), "^.*(.{14})$", "\1");
      set beresp.http.X-Vitrine-Tags = beresp.http.X-Vitrine-Tags + ",product-" + beresp.http.X-Vitrine-Gtin +
        ",box-" + beresp.http.X-Vitrine-Channel + "-" + beresp.http.X-Vitrine-Gtin;
    }
    unset beresp.http.X-Vitrine-Channel;
    unset beresp.http.X-Vitrine-Gtin;
  }
}

# Refused, reset, too late, or a 5xx of something in between.
sub vcl_backend_error {
  # Every server first, and only then the visitor: 3 for three servers.
  if (bereq.retries < 3 && !bereq.http.X-Vitrine-Rescue) { return (retry); }
  # What is kept stays kept: see vcl_synth.
  if (bereq.is_bgfetch || (bereq.http.X-Vitrine-Surface && !bereq.http.X-Vitrine-Rescue)) { return (abandon); }
  # When no old copy was found either: asked again in a second, and not for each visitor.
  if (bereq.http.X-Vitrine-Surface) { set beresp.ttl = 1s; } else { set beresp.ttl = 0s; }
  set beresp.grace = 0s;
  set beresp.keep = 0s;
  set beresp.http.Cache-Control = "no-store";
  if (bereq.http.X-Vitrine-Surface ~ "fragment|embed") {
    # Whoever reads an article sees no error: nothing, as from the server itself when it has nothing.
    set beresp.status = 200;
    set beresp.http.Content-Type = "text/html; charset=utf-8";
    set beresp.http.Vitrine-State = "unavailable";
    synthetic("");
  } else {
    set beresp.status = 503;
    set beresp.http.Retry-After = "5";
    set beresp.http.Content-Type = "text/plain; charset=utf-8";
    synthetic("No server answers.");
  }
  return (deliver);
}

sub vcl_deliver {
  if (req.http.X-Vitrine-Surface) {
    if (obj.hits > 0) { set resp.http.Cache-Status = resp.http.Cache-Status + ", varnish; hit"; }
    else { set resp.http.Cache-Status = resp.http.Cache-Status + ", varnish; fwd=miss"; }
    set resp.http.Cache-Status = regsub(resp.http.Cache-Status, "^, ", "");
    # That time is this cache's: a browser would count it once more. Leave it in for a CDN in front of this one.
    set resp.http.Cache-Control = regsub(resp.http.Cache-Control, ", *stale-while-revalidate=[0-9]+", "");
  }
  unset resp.http.X-Vitrine-Tags;
  # For this cache, and not for visitors. Leave them in where a CDN in front of this one purges by them.
  unset resp.http.Surrogate-Key;
  unset resp.http.xkey;
  unset resp.http.Cache-Tag;
  unset resp.http.Edge-Cache-Tag;
}

sub vcl_synth {
  # Nothing new can be had, though the servers looked well: once more, now with what is old but not too old.
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

#!/bin/sh
# Takes every answer with a tag out of the folder of nginx's cache: purge.sh FOLDER TAG
# TAG: channel-{id}, product-{gtin of 14 digits}, box-{id}-{gtin}, deals-{id}, or vitrine for all boxes and grids.
# Needs VITRINE_CACHE_TAG_HEADER (any of the four names) at the servers, and whoever runs it the right to delete in the folder.
# nginx asks again for what it does not find there. docs/operate/cdn.md says what this costs.
set -eu
folder=${1:?'the folder of proxy_cache_path'}
tag=${2:?'the tag'}

id='[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}'
# One line of the letters that tags have, and then of their form.
[ -z "$(printf '%s' "$tag" | tr -d 'a-z0-9-' | od -An -c)" ] && printf '%s' "$tag" | grep -qxE -e "vitrine|(channel|deals)-$id|product-[0-9]{14}|box-$id-[0-9]{14}" || {
  echo 'not a tag' >&2
  exit 64
}
[ -d "$folder" ] || { echo 'no such folder' >&2; exit 66; }

list=$(mktemp)
trap 'rm -f "$list"' EXIT
# Each file begins with the header lines that came with its answer. -m1: what is found is not read to its end.
LC_ALL=C find "$folder" -type f -exec grep -laiE -m1 "^(surrogate-key|xkey|cache-tag|edge-cache-tag): (.*[ ,])?$tag([ ,].*)?.?\$" {} + >"$list" || true
tr '\n' '\0' <"$list" | xargs -0 rm -f --
wc -l <"$list"

#!/bin/sh
# Remove every response with a tag from nginx's cache folder: purge.sh FOLDER TAG
# TAG: channel-{id}, product-{gtin}, box-{id}-{gtin} or deals-{id} (GTINs with 14 digits), or vitrine for all boxes and grids.
# Requires VITRINE_CACHE_TAG_HEADER (any of the four names) on the servers, and the right to delete files in the folder.
# nginx requests removed responses again. docs/operate/cdn.md has the cost.
set -eu
folder=${1:?'the folder of proxy_cache_path'}
tag=${2:?'the tag'}

id='[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}'
# Check the characters first, then the format of a tag.
[ -z "$(printf '%s' "$tag" | tr -d 'a-z0-9-' | od -An -c)" ] && printf '%s' "$tag" | grep -qxE -e "vitrine|(channel|deals)-$id|product-[0-9]{14}|box-$id-[0-9]{14}" || {
  echo 'not a tag' >&2
  exit 64
}
[ -d "$folder" ] || { echo 'no such folder' >&2; exit 66; }

list=$(mktemp)
trap 'rm -f "$list"' EXIT
# Each file starts with the headers of its response. -m1 stops reading a file at its first match.
LC_ALL=C find "$folder" -type f -exec grep -laiE -m1 "^(surrogate-key|xkey|cache-tag|edge-cache-tag): (.*[ ,])?$tag([ ,].*)?.?\$" {} + >"$list" || true
tr '\n' '\0' <"$list" | xargs -0 rm -f --
wc -l <"$list"

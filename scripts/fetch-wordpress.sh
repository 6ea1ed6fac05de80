#!/usr/bin/env bash
# fetch-wordpress.sh FOLDER: unpack the newest WordPress that Debian packages. Installs nothing and prints the version.
# Run its tests with: TEST_WORDPRESS_FOLDER=FOLDER/usr/share/wordpress npm run test:system -- test/system/wordpress
set -euo pipefail
mkdir -p "$1"
folder=$(realpath "$1")
temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT
cd "$temporary"

# Use the mirror of this machine, with package lists of its own.
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' 'Label: Debian' | head -n 1)
mkdir -p lists/partial cache/archives/partial
echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror sid main" >sources.list
cat >apt.conf <<END
Dir::Etc::sourcelist "$temporary/sources.list";
Dir::Etc::sourceparts "-";
Dir::State::lists "$temporary/lists";
Dir::Cache "$temporary/cache";
APT::Sandbox::User "root";
END
export APT_CONFIG="$temporary/apt.conf"
apt-get update -qq >/dev/null
# The packages to which WordPress has symbolic links.
apt-get download -qq wordpress libjs-cropper libjs-jquery-ui libjs-lodash libjs-underscore libphp-phpmailer php-getid3
for package in *.deb; do dpkg-deb --extract "$package" "$folder"; done

missing=$(find "$folder/usr/share/wordpress" -xtype l ! -name .htaccess)
[ -z "$missing" ] || { echo "files of other packages are missing: $missing" >&2; exit 1; }
sed -n "s/^\$wp_version = '\(.*\)';$/\1/p" "$folder/usr/share/wordpress/wp-includes/version.php"

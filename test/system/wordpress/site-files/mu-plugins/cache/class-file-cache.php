<?php
/**
 * A persistent object cache: transients and locks are files. `set` and `add` are atomic, as in Redis or Memcached.
 */
class File_Cache extends WP_Object_Cache {

	private function path( $key, $group ) {
		return in_array( $group, array( 'transient', 'vitrine' ), true ) ? getenv( 'VITRINE_TEST_SITE' ) . "/cache/$group-$key" : '';
	}

	public function get( $key, $group = 'default', $force = false, &$found = null ) {
		$path = $this->path( $key, $group );
		if ( '' === $path ) {
			return parent::get( $key, $group, $force, $found );
		}
		$text  = @file_get_contents( $path );
		$found = false !== $text;
		return $found ? unserialize( $text ) : false;
	}

	public function set( $key, $data, $group = 'default', $expire = 0 ) {
		$path = $this->path( $key, $group );
		if ( '' === $path ) {
			return parent::set( $key, $data, $group, $expire );
		}
		$new = $path . '.' . getmypid() . '.' . uniqid( '', true );
		return false !== file_put_contents( $new, serialize( $data ) ) && rename( $new, $path );
	}

	public function add( $key, $data, $group = 'default', $expire = 0 ) {
		$path = $this->path( $key, $group );
		if ( '' === $path ) {
			return parent::add( $key, $data, $group, $expire );
		}
		$file = @fopen( $path, 'x' );
		return $file && fwrite( $file, serialize( $data ) ) && fclose( $file );
	}

	public function delete( $key, $group = 'default', $deprecated = false ) {
		$path = $this->path( $key, $group );
		return '' === $path ? parent::delete( $key, $group ) : @unlink( $path );
	}
}

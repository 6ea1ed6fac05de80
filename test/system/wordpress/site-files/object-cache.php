<?php
/**
 * Marks the object cache as persistent; test-site.php installs it.
 */
require_once ABSPATH . WPINC . '/cache.php';

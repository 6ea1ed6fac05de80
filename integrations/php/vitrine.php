<?php

/**
 * Boxes and grids of a Vitrine server in PHP pages. One file for PHP 7.4 or later, without dependencies.
 *
 *     require_once __DIR__ . '/vitrine.php';
 *     echo vitrine_box('https://widgets.example/fragments/CHANNEL/where-to-buy/GTIN');
 *
 * - It raises no warnings and no exceptions, and a request takes one second at most.
 * - While the server fails, it returns the last good box.
 * - One visitor at a time fetches a box; the others get the cached one.
 * - After a failure it sends no requests to the server for a while, so that an outage does not delay every visitor.
 */

declare(strict_types=1);

if (!function_exists('vitrine_box')) {
    /** Pause after a failure of the server. */
    define('VITRINE_PAUSE_SECONDS', 10);

    /** Pause for an address without a box, because the address is wrong or the server has no data. */
    define('VITRINE_RETRY_SECONDS', 5);

    /** One deadline over connection, headers and body. */
    define('VITRINE_TIMEOUT_SECONDS', 1.0);

    /** A larger response is not a box. */
    define('VITRINE_MAX_BYTES', 1048576);

    /**
     * Returns the HTML of a box or grid, or an empty string when there is nothing to show.
     *
     * Check a GTIN against your own products before you put it into the address, because each address creates small files.
     *
     * @param string      $url    address of a fragment
     * @param string|null $folder cache folder, writable only for PHP; by default one in the system's temporary
     *                            folder
     */
    function vitrine_box(string $url, ?string $folder = null): string
    {
        // A handler that turns notices into exceptions must not break the page.
        set_error_handler(static function (): bool {
            return true;
        });
        try {
            $server = vitrine_server($url);
            return $server === null ? '' : vitrine_cached_or_fetched($url, $server, vitrine_folder($folder));
        } catch (\Throwable $failure) {
            return '';
        } finally {
            restore_error_handler();
        }
    }

    /** Returns scheme, host and port, or null if the address is invalid. */
    function vitrine_server(string $url): ?string
    {
        return preg_match('~^(https?://[^/?#\s]+)/\S*$~i', $url, $found) === 1 ? strtolower($found[1]) : null;
    }

    /** Returns the cache folder, or null without a usable one; every page then fetches its boxes. */
    function vitrine_folder(?string $folder): ?string
    {
        $user = $folder === null ? vitrine_user() : null;
        $path = $folder ?? sys_get_temp_dir() . '/vitrine-' . ($user ?? 'php');
        if (!is_dir($path)) {
            mkdir($path, 0700, true);
            clearstatcache();
        }
        // In a shared temporary folder, another user may have created this folder to inject boxes.
        $isTrusted = $folder !== null || ($user !== null && fileowner($path) === $user && !is_link($path));
        return $isTrusted && is_dir($path) && is_writable($path) ? $path : null;
    }

    /** Returns the user of this process; without the posix extension, the owner of a new file. Null if unknown. */
    function vitrine_user(): ?int
    {
        static $user = false;
        if ($user === false) {
            $user = function_exists('posix_geteuid') ? posix_geteuid() : vitrine_owner_of_new_file();
        }
        return $user;
    }

    function vitrine_owner_of_new_file(): ?int
    {
        $file = tempnam(sys_get_temp_dir(), 'vitrine');
        if ($file === false) {
            return null;
        }
        $owner = fileowner($file);
        unlink($file);
        return $owner === false ? null : $owner;
    }

    function vitrine_cached_or_fetched(string $url, string $server, ?string $folder): string
    {
        if ($folder === null) {
            return (string) vitrine_fetch($url)['html'];
        }
        $file = $folder . '/' . hash('sha256', $url);
        $pause = $folder . '/' . hash('sha256', $server) . '.pause';
        $cached = vitrine_read($file . '.box');
        if (time() < max($cached['freshUntil'], vitrine_until($file . '.retry')) || time() < vitrine_until($pause)) {
            return $cached['html'];
        }
        $lock = fopen($file . '.lock', 'c');
        if ($lock === false || !flock($lock, LOCK_EX | LOCK_NB)) {
            return $cached['html'];
        }
        try {
            return vitrine_refresh($url, $file, $pause) ?? $cached['html'];
        } finally {
            flock($lock, LOCK_UN);
            fclose($lock);
        }
    }

    /** Fetches and stores a box. Returns null without a valid response; the cached box then stays. */
    function vitrine_refresh(string $url, string $file, string $pause): ?string
    {
        // After a pause, the first visitor tries the server; a new pause applies to the others until it succeeds.
        if (is_file($pause)) {
            vitrine_write($pause, (string) (time() + VITRINE_PAUSE_SECONDS));
        }
        $response = vitrine_fetch($url);
        if (!$response['isServerUp']) {
            vitrine_write($pause, (string) (time() + VITRINE_PAUSE_SECONDS));
            return null;
        }
        if (is_file($pause)) {
            unlink($pause);
        }
        if ($response['html'] === null) {
            vitrine_write($file . '.retry', (string) (time() + VITRINE_RETRY_SECONDS));
            return null;
        }
        $freshUntil = time() + $response['freshSeconds'];
        $keepUntil = $freshUntil + $response['keepSeconds'];
        vitrine_write($file . '.box', $freshUntil . ' ' . $keepUntil . "\n" . $response['html']);
        if (mt_rand(1, 200) === 1) {
            vitrine_sweep(dirname($file));
        }
        return $response['html'];
    }

    /** @return array{html: string, freshUntil: int} html is empty for an expired box */
    function vitrine_read(string $file): array
    {
        $parts = is_file($file) ? explode("\n", (string) file_get_contents($file), 2) : [];
        $times = array_map('intval', explode(' ', $parts[0] ?? ''));
        $isGood = count($parts) === 2 && count($times) === 2 && time() < $times[1];
        return ['html' => $isGood ? $parts[1] : '', 'freshUntil' => $isGood ? $times[0] : 0];
    }

    /** Returns the end of a pause; 0 without one. */
    function vitrine_until(string $file): int
    {
        return is_file($file) ? (int) file_get_contents($file) : 0;
    }

    /** Writes by renaming, so that other processes never read a partial file. */
    function vitrine_write(string $file, string $text): void
    {
        $new = $file . '.' . getmypid() . '-' . mt_rand();
        if (file_put_contents($new, $text) === strlen($text)) {
            rename($new, $file);
        } elseif (is_file($new)) {
            unlink($new);
        }
    }

    /** Removes files that were not written for two days. Other files in a custom folder stay. */
    function vitrine_sweep(string $folder): void
    {
        foreach (scandir($folder) ?: [] as $name) {
            $file = $folder . '/' . $name;
            $isOurs = preg_match('~^[0-9a-f]{64}\.(?:box|retry|lock|pause)(?:\.\d+-\d+)?$~', $name) === 1;
            if ($isOurs && is_file($file) && filemtime($file) < time() - 172800) {
                unlink($file);
            }
        }
    }

    /**
     * @return array{html: ?string, isServerUp: bool, freshSeconds: int, keepSeconds: int} html is null when the
     *                                                                                       response is not a box
     */
    function vitrine_fetch(string $url): array
    {
        $response = function_exists('curl_init') ? vitrine_fetch_curl($url) : vitrine_fetch_stream($url);
        $control = $response['cacheControl'];
        $isBox = $response['status'] === 200
            && stripos($control, 'no-store') === false
            && ($response['body'] === '' || $response['body'][0] === '<');
        return [
            'html' => $isBox ? $response['body'] : null,
            'isServerUp' => $response['status'] > 0 && $response['status'] < 500,
            'freshSeconds' => preg_match('~max-age=(\d+)~i', $control, $found) === 1 ? (int) $found[1] : 60,
            'keepSeconds' => preg_match('~stale-if-error=(\d+)~i', $control, $found) === 1 ? (int) $found[1] : 86400,
        ];
    }

    /** @return array{status: int, cacheControl: string, body: string} status is 0 without a complete response */
    function vitrine_fetch_curl(string $url): array
    {
        $body = '';
        $control = '';
        $handle = curl_init($url);
        curl_setopt_array($handle, [
            CURLOPT_TIMEOUT_MS => (int) (VITRINE_TIMEOUT_SECONDS * 1000),
            CURLOPT_NOSIGNAL => true,
            CURLOPT_FOLLOWLOCATION => false,
            CURLOPT_PROTOCOLS => CURLPROTO_HTTP | CURLPROTO_HTTPS,
            CURLOPT_HEADERFUNCTION => static function ($handle, string $line) use (&$control): int {
                $control = stripos($line, 'cache-control:') === 0 ? trim(substr($line, 14)) : $control;
                return strlen($line);
            },
            CURLOPT_WRITEFUNCTION => static function ($handle, string $part) use (&$body): int {
                $body .= $part;
                return strlen($body) > VITRINE_MAX_BYTES ? -1 : strlen($part);
            },
        ]);
        $isComplete = curl_exec($handle) !== false;
        $status = $isComplete ? (int) curl_getinfo($handle, CURLINFO_RESPONSE_CODE) : 0;
        return ['status' => $status, 'cacheControl' => $control, 'body' => $body];
    }

    /** @return array{status: int, cacheControl: string, body: string} status is 0 without a complete response */
    function vitrine_fetch_stream(string $url): array
    {
        $deadline = microtime(true) + VITRINE_TIMEOUT_SECONDS;
        $failure = ['status' => 0, 'cacheControl' => '', 'body' => ''];
        $options = ['timeout' => VITRINE_TIMEOUT_SECONDS, 'follow_location' => 0, 'ignore_errors' => true];
        $stream = fopen($url, 'rb', false, stream_context_create(['http' => $options]));
        if ($stream === false) {
            return $failure;
        }
        $headers = implode("\n", stream_get_meta_data($stream)['wrapper_data'] ?? []);
        $body = '';
        stream_set_blocking($stream, false);
        while (!feof($stream) && strlen($body) <= VITRINE_MAX_BYTES && microtime(true) < $deadline) {
            $part = fread($stream, 65536);
            if ($part === '' || $part === false) {
                usleep(2000);
            } else {
                $body .= $part;
            }
        }
        $isComplete = feof($stream) && strlen($body) <= VITRINE_MAX_BYTES;
        fclose($stream);
        $status = preg_match('~^HTTP/\S+ (\d{3})~', $headers, $found) === 1 ? (int) $found[1] : 0;
        $control = preg_match('~^cache-control:(.*)$~im', $headers, $found) === 1 ? trim($found[1]) : '';
        $isComplete = $isComplete && (preg_match('~^content-length:\s*(\d+)~im', $headers, $found) !== 1 || (int) $found[1] === strlen($body));
        return $isComplete ? ['status' => $status, 'cacheControl' => $control, 'body' => $body] : $failure;
    }
}

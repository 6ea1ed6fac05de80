<?php

/**
 * Boxes and grids of a Vitrine server in PHP pages: one file, PHP 7.4 or later, nothing to install.
 *
 *     require_once __DIR__ . '/vitrine.php';
 *     echo vitrine_box('https://widgets.example/fragments/CHANNEL/where-to-buy/GTIN');
 *
 * What is certain: no warning and no exception; a second at most; the last good box while the server fails; one visitor
 * at a time fetches, the others get what is kept; a server that fails is left alone for a while, whatever box is asked of
 * it, so that an outage costs one visitor a second and not every visitor one for each box.
 */

declare(strict_types=1);

if (!function_exists('vitrine_box')) {
    /** Seconds after which a server that failed is asked again. */
    define('VITRINE_PAUSE_SECONDS', 10);

    /** Seconds after which an address that got no box (a mistake in a template, nothing kept at the server) is asked again. */
    define('VITRINE_RETRY_SECONDS', 5);

    /** One deadline over connection, headers and body. */
    define('VITRINE_TIMEOUT_SECONDS', 1.0);

    /** More than this is no box. */
    define('VITRINE_MAX_BYTES', 1048576);

    /**
     * HTML of a box or grid, or an empty string when there is nothing to show.
     *
     * Look a GTIN up among your own products before you put it into the address: each new address makes small files.
     *
     * @param string      $url    address of a fragment
     * @param string|null $folder where boxes are kept: writable for PHP and for nobody else; by default one below the
     *                            system's temporary folder
     */
    function vitrine_box(string $url, ?string $folder = null): string
    {
        // Also a handler that turns every notice into an exception must not break the page.
        set_error_handler(static function (): bool {
            return true;
        });
        try {
            $server = vitrine_server($url);
            return $server === null ? '' : vitrine_kept_or_fetched($url, $server, vitrine_folder($folder));
        } catch (\Throwable $failure) {
            return '';
        } finally {
            restore_error_handler();
        }
    }

    /** Scheme, host and port, or null for what is no address of a server. */
    function vitrine_server(string $url): ?string
    {
        return preg_match('~^(https?://[^/?#\s]+)/\S*$~i', $url, $found) === 1 ? strtolower($found[1]) : null;
    }

    /** Where boxes are kept, or null when there is no such place: then every page fetches its own. */
    function vitrine_folder(?string $folder): ?string
    {
        $user = $folder === null ? vitrine_user() : null;
        $place = $folder ?? sys_get_temp_dir() . '/vitrine-' . ($user ?? 'php');
        if (!is_dir($place)) {
            mkdir($place, 0700, true);
            clearstatcache();
        }
        // In a temporary folder anybody may have made it before us, to put boxes of their own into it.
        $isTrusted = $folder !== null || ($user !== null && fileowner($place) === $user && !is_link($place));
        return $isTrusted && is_dir($place) && is_writable($place) ? $place : null;
    }

    /** The user of this process; without the posix extension the owner of a file that it makes. Null: that cannot be told. */
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

    function vitrine_kept_or_fetched(string $url, string $server, ?string $folder): string
    {
        if ($folder === null) {
            return (string) vitrine_fetch($url)['html'];
        }
        $file = $folder . '/' . hash('sha256', $url);
        $pause = $folder . '/' . hash('sha256', $server) . '.pause';
        $kept = vitrine_read($file . '.box');
        if (time() < max($kept['freshUntil'], vitrine_until($file . '.retry')) || time() < vitrine_until($pause)) {
            return $kept['html'];
        }
        $lock = fopen($file . '.lock', 'c');
        if ($lock === false || !flock($lock, LOCK_EX | LOCK_NB)) {
            return $kept['html'];
        }
        try {
            return vitrine_refresh($url, $file, $pause) ?? $kept['html'];
        } finally {
            flock($lock, LOCK_UN);
            fclose($lock);
        }
    }

    /** Asks the server and keeps its answer. Null: it gave none, and whatever is kept stays. */
    function vitrine_refresh(string $url, string $file, string $pause): ?string
    {
        // After a pause one visitor tries, and the others go on waiting for what becomes of it.
        if (is_file($pause)) {
            vitrine_write($pause, (string) (time() + VITRINE_PAUSE_SECONDS));
        }
        $answer = vitrine_fetch($url);
        if (!$answer['isServerWell']) {
            vitrine_write($pause, (string) (time() + VITRINE_PAUSE_SECONDS));
            return null;
        }
        if (is_file($pause)) {
            unlink($pause);
        }
        if ($answer['html'] === null) {
            vitrine_write($file . '.retry', (string) (time() + VITRINE_RETRY_SECONDS));
            return null;
        }
        $freshUntil = time() + $answer['freshSeconds'];
        $keepUntil = $freshUntil + $answer['keepSeconds'];
        vitrine_write($file . '.box', $freshUntil . ' ' . $keepUntil . "\n" . $answer['html']);
        if (mt_rand(1, 200) === 1) {
            vitrine_sweep(dirname($file));
        }
        return $answer['html'];
    }

    /** @return array{html: string, freshUntil: int} a box past its time is none */
    function vitrine_read(string $file): array
    {
        $parts = is_file($file) ? explode("\n", (string) file_get_contents($file), 2) : [];
        $times = array_map('intval', explode(' ', $parts[0] ?? ''));
        $isGood = count($parts) === 2 && count($times) === 2 && time() < $times[1];
        return ['html' => $isGood ? $parts[1] : '', 'freshUntil' => $isGood ? $times[0] : 0];
    }

    /** Until when a pause lasts; 0 when there is none. */
    function vitrine_until(string $file): int
    {
        return is_file($file) ? (int) file_get_contents($file) : 0;
    }

    /** Readers see the old file or the new one, never a part. */
    function vitrine_write(string $file, string $text): void
    {
        $new = $file . '.' . getmypid() . '-' . mt_rand();
        if (file_put_contents($new, $text) === strlen($text)) {
            rename($new, $file);
        } elseif (is_file($new)) {
            unlink($new);
        }
    }

    /** Removes what nobody asked for in two days; a folder that was named may hold other things, which stay. */
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
     * @return array{html: ?string, isServerWell: bool, freshSeconds: int, keepSeconds: int} html is null when the answer
     *                                                                                       is no box
     */
    function vitrine_fetch(string $url): array
    {
        $answer = function_exists('curl_init') ? vitrine_fetch_curl($url) : vitrine_fetch_stream($url);
        $control = $answer['cacheControl'];
        $isBox = $answer['status'] === 200
            && stripos($control, 'no-store') === false
            && ($answer['body'] === '' || $answer['body'][0] === '<');
        return [
            'html' => $isBox ? $answer['body'] : null,
            'isServerWell' => $answer['status'] > 0 && $answer['status'] < 500,
            'freshSeconds' => preg_match('~max-age=(\d+)~i', $control, $found) === 1 ? (int) $found[1] : 60,
            'keepSeconds' => preg_match('~stale-if-error=(\d+)~i', $control, $found) === 1 ? (int) $found[1] : 86400,
        ];
    }

    /** @return array{status: int, cacheControl: string, body: string} status is 0 when there was no whole answer */
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
        $isWhole = curl_exec($handle) !== false;
        $status = $isWhole ? (int) curl_getinfo($handle, CURLINFO_RESPONSE_CODE) : 0;
        return ['status' => $status, 'cacheControl' => $control, 'body' => $body];
    }

    /** @return array{status: int, cacheControl: string, body: string} status is 0 when there was no whole answer */
    function vitrine_fetch_stream(string $url): array
    {
        $deadline = microtime(true) + VITRINE_TIMEOUT_SECONDS;
        $none = ['status' => 0, 'cacheControl' => '', 'body' => ''];
        $options = ['timeout' => VITRINE_TIMEOUT_SECONDS, 'follow_location' => 0, 'ignore_errors' => true];
        $stream = fopen($url, 'rb', false, stream_context_create(['http' => $options]));
        if ($stream === false) {
            return $none;
        }
        $heads = implode("\n", stream_get_meta_data($stream)['wrapper_data'] ?? []);
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
        $isWhole = feof($stream);
        fclose($stream);
        $status = preg_match('~^HTTP/\S+ (\d{3})~', $heads, $found) === 1 ? (int) $found[1] : 0;
        $control = preg_match('~^cache-control:(.*)$~im', $heads, $found) === 1 ? trim($found[1]) : '';
        $isWhole = $isWhole && (preg_match('~^content-length:\s*(\d+)~im', $heads, $found) !== 1 || (int) $found[1] === strlen($body));
        return $isWhole ? ['status' => $status, 'cacheControl' => $control, 'body' => $body] : $none;
    }
}

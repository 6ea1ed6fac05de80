<?php

/**
 * Stubs for the parts of TYPO3 that the view helper of integrations/typo3 uses. Arguments: the extension, the folder of
 * variable files, and the address of a fragment. Prints what the view helper prints.
 */

namespace TYPO3\CMS\Core\Core {
    final class Environment
    {
        public static function getVarPath(): string
        {
            return $GLOBALS['argv'][2];
        }
    }
}

namespace TYPO3Fluid\Fluid\Core\ViewHelper {
    abstract class AbstractViewHelper
    {
        protected $arguments = [];
        protected $escapeOutput;
        private $definitions = [];

        abstract public function initializeArguments();

        abstract public function render();

        protected function registerArgument($name, $type, $description, $required = false, $defaultValue = null)
        {
            $this->definitions[$name] = [$type, $required];
            return $this;
        }

        /** Call the view helper as a template does. */
        public function call(array $arguments): string
        {
            $this->initializeArguments();
            if (array_keys($arguments) !== array_keys($this->definitions)) {
                throw new \RuntimeException('unknown or missing argument');
            }
            $this->arguments = $arguments;
            $html = $this->render();
            return $this->escapeOutput === false ? $html : htmlspecialchars($html);
        }
    }
}

namespace {
    $package = json_decode(file_get_contents("$argv[1]/composer.json"), true, 512, JSON_THROW_ON_ERROR);
    foreach ($package['autoload']['files'] as $file) {
        require_once "$argv[1]/$file";
    }
    spl_autoload_register(static function (string $name) use ($package, $argv): void {
        foreach ($package['autoload']['psr-4'] as $prefix => $folder) {
            if (strpos($name, $prefix) === 0) {
                require "$argv[1]/$folder" . str_replace('\\', '/', substr($name, strlen($prefix))) . '.php';
            }
        }
    });
    echo (new \Vitrine\Typo3\ViewHelpers\BoxViewHelper())->call(['url' => $argv[3]]);
}

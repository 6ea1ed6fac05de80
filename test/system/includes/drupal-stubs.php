<?php

/**
 * Stubs for the parts of Drupal that the block of integrations/drupal uses, to run the block without Drupal. Arguments: the
 * module, the server of the site's settings, and as JSON the block's configuration, the fields of the current node and the
 * submitted form values (`null`: none). Prints the render array, the form, the configuration and the errors of the form.
 */

namespace Drupal\Core\Block {
    abstract class BlockBase
    {
        protected array $configuration;

        public function __construct(array $configuration, $plugin_id, $plugin_definition)
        {
            $this->configuration = $configuration + $this->defaultConfiguration();
        }

        public function getConfiguration(): array
        {
            return $this->configuration;
        }

        protected function t(string $text): string
        {
            return $text;
        }
    }
}

namespace Drupal\Core\Form {
    interface FormStateInterface
    {
        public function getValue($key);

        public function setErrorByName($name, $message);
    }
}

namespace Drupal\Core\Plugin {
    interface ContainerFactoryPluginInterface
    {
    }
}

namespace Drupal\Core\Routing {
    interface RouteMatchInterface
    {
        public function getParameter($name);
    }
}

namespace Drupal\Core\Site {
    final class Settings
    {
        public static string $server = '';

        public static function get(string $name, $default = null)
        {
            return $name === 'vitrine_server' && self::$server !== '' ? self::$server : $default;
        }
    }
}

namespace Drupal\Core\Render {
    final class Markup
    {
        public static function create(string $html): string
        {
            return $html;
        }
    }
}

namespace Drupal\node {
    interface NodeInterface
    {
        public function hasField($name);

        public function get($name);

        public function getCacheTags();
    }
}

namespace Symfony\Component\DependencyInjection {
    interface ContainerInterface
    {
        public function get(string $id);
    }
}

namespace {
    [, $module, $server, $configuration, $fields, $submitted] = $argv;
    \Drupal\Core\Site\Settings::$server = $server;
    require $module . '/src/Plugin/Block/VitrineBlock.php';

    final class StubNode implements \Drupal\node\NodeInterface
    {
        public function __construct(private array $fields)
        {
        }

        public function hasField($name)
        {
            return isset($this->fields[$name]);
        }

        public function get($name)
        {
            return (object) ['value' => $this->fields[$name]];
        }

        public function getCacheTags()
        {
            return ['node:1'];
        }
    }

    final class StubServices implements
        \Symfony\Component\DependencyInjection\ContainerInterface,
        \Drupal\Core\Routing\RouteMatchInterface
    {
        public function __construct(private array $fields)
        {
        }

        public function get(string $id)
        {
            return $this;
        }

        public function getParameter($name)
        {
            return $this->fields === [] ? null : new StubNode($this->fields);
        }
    }

    $services = new StubServices(json_decode($fields, true));
    $block = \Drupal\vitrine\Plugin\Block\VitrineBlock::create($services, json_decode($configuration, true), 'vitrine_box', []);
    final class StubFormState implements \Drupal\Core\Form\FormStateInterface
    {
        public array $errors = [];

        public function __construct(private array $values)
        {
        }

        public function getValue($key)
        {
            return $this->values[$key] ?? null;
        }

        public function setErrorByName($name, $message)
        {
            $this->errors[$name] = $message;
        }
    }

    $state = new StubFormState(json_decode($submitted, true) ?? []);
    if ($submitted !== 'null') {
        $block->blockValidate([], $state);
        $block->blockSubmit([], $state);
    }
    echo json_encode([
        'built' => $block->build(),
        'form' => $block->blockForm([], $state),
        'configuration' => $block->getConfiguration(),
        'errors' => (object) $state->errors,
    ]);
}

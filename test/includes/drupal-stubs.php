<?php

/**
 * What the block of integrations/drupal uses of Drupal, and no more: enough to run the block by itself. Called with its
 * configuration and the fields of the node of the page as JSON, this prints what the block built.
 */

namespace Drupal\Core\Block {
    abstract class BlockBase
    {
        protected array $configuration;

        public function __construct(array $configuration, $plugin_id, $plugin_definition)
        {
            $this->configuration = $configuration + $this->defaultConfiguration();
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
    [, $module, $configuration, $fields] = $argv;
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
    echo json_encode($block->build());
}

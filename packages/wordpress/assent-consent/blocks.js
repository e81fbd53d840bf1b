/* The blocks in the editor: a button whose label can be changed. The page gets it from PHP. */
(function (blocks, editor, element) {
  window.assentBlocks.forEach(function (block) {
    blocks.registerBlockType(block.name, {
      apiVersion: 2,
      title: block.title,
      category: 'widgets',
      icon: 'privacy',
      attributes: { label: { type: 'string', default: '' } },
      edit: function (props) {
        return element.createElement(
          'p',
          editor.useBlockProps(),
          element.createElement(editor.RichText, {
            tagName: 'span',
            className: 'wp-element-button',
            allowedFormats: [],
            placeholder: block.title,
            value: props.attributes.label,
            onChange: function (label) {
              props.setAttributes({ label: label });
            },
          }),
        );
      },
      save: function () {
        return null;
      },
    });
  });
})(window.wp.blocks, window.wp.blockEditor, window.wp.element);

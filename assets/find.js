// Makes the key "/" lead to the search field of the console, as in the API reference.
(function () {
  'use strict';
  document.addEventListener('keydown', function (event) {
    if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey) return;
    if (/^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement.tagName)) return;
    var field = document.getElementById('anything');
    if (!field) return;
    event.preventDefault();
    field.focus();
    field.select();
  });
})();

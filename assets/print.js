// Gives a page its button to print, in the place of the words that say how else.
(function () {
  'use strict';
  document.querySelectorAll('[data-print]').forEach(function (button) {
    button.hidden = false;
    document.querySelectorAll('[data-without-print]').forEach(function (words) { words.hidden = true; });
    button.addEventListener('click', function () { window.print(); });
  });
})();

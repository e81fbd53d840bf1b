// Gives every code block marked with data-copy a button that copies it.
(function () {
  'use strict';

  var words = document.currentScript.dataset;
  var texts = {
    copy: words.label || 'Copy',
    copied: words.copied || 'Copied',
    select: words.select || 'Select the text to copy it',
  };

  function textOf(element) {
    return element.value !== undefined ? element.value : element.textContent;
  }

  // navigator.clipboard exists only on https and localhost; elsewhere the text is selected and copied the old way.
  function copyText(element) {
    if (navigator.clipboard) return navigator.clipboard.writeText(textOf(element).trim());
    if (element.select) {
      element.select();
    } else {
      var range = document.createRange();
      range.selectNodeContents(element);
      var selection = window.getSelection();
      selection.removeAllRanges();
      selection.addRange(range);
    }
    return document.execCommand('copy') ? Promise.resolve() : Promise.reject(new Error('copy refused'));
  }

  var live = document.createElement('p');
  live.className = 'visually-hidden';
  live.setAttribute('role', 'status');
  document.body.appendChild(live);

  document.querySelectorAll('[data-copy]').forEach(function (element) {
    var button = document.createElement('button');
    var pending;
    button.type = 'button';
    button.className = 'copy plain small';
    var word = document.createElement('span');
    word.textContent = texts.copy;
    var what = document.createElement('span');
    what.className = 'visually-hidden';
    what.textContent = ' ' + element.getAttribute('data-copy');
    button.append(word, what);
    button.addEventListener('click', function () {
      copyText(element).then(
        function () { say(texts.copied); },
        function () { say(texts.select); }
      );
    });

    function say(text) {
      clearTimeout(pending);
      if (text === texts.copied) word.textContent = text;
      live.textContent = '';
      live.textContent = text;
      pending = setTimeout(function () { word.textContent = texts.copy; live.textContent = ''; }, 2500);
    }

    element.parentElement.classList.add('has-copy');
    element.parentElement.appendChild(button);
  });
})();

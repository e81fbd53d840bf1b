// Puts the reader's own values into the commands of the guide. Nothing is stored or sent.
(function () {
  'use strict';

  var form = document.getElementById('values');
  var places = document.querySelectorAll('[data-fill]');

  places.forEach(function (place) {
    place.setAttribute('data-empty', place.textContent);
  });

  // The commands hold their JSON in single quotes. A name may be anything; the other values are
  // plain words, also outside of the quotes.
  function quoted(field, value) {
    if (field === 'name') return JSON.stringify(value).slice(1, -1).replace(/'/g, "'\\''");
    return value.replace(/[^\w.@+-]/g, '');
  }

  function fill() {
    places.forEach(function (place) {
      var field = place.getAttribute('data-fill');
      var value = quoted(field, form.elements[field].value.trim());
      place.textContent = value || place.getAttribute('data-empty');
      place.classList.toggle('filled', Boolean(value));
    });
  }

  form.addEventListener('input', fill);
  form.addEventListener('submit', function (event) { event.preventDefault(); });
  form.hidden = false;
  // Beside the text where there is room, above it and folded where there is not.
  form.firstElementChild.open = window.matchMedia('(min-width: 64rem)').matches;
  fill();
})();

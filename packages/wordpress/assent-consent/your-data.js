/* Opens the visitor's own page of the consent service, or the choice as long as there is none. */
document.addEventListener('click', function (event) {
  if (!event.target.closest('[data-assent-your-data]') || !window.assent) return;
  var choice = window.assent.get();
  if (!choice || !choice.visitor) {
    window.assent.open();
    return;
  }
  // The visitor can withdraw there: with this mark the tag asks the service for the state.
  localStorage.setItem('assent:' + choice.pixel + '?', String(Date.now()));
  var ids = '#pixel=' + encodeURIComponent(choice.pixel) + '&visitor=' + encodeURIComponent(choice.visitor);
  window.open(window.assentService + '/your-data?lang=' + encodeURIComponent(document.documentElement.lang || 'en') + ids, '_blank', 'noopener');
});

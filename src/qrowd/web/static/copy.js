// A button that copies what a text area holds. Without scripts it is selected and copied by hand.

// Only pages over HTTPS, and of this machine, have a clipboard.
async function copyText(field) {
  if (navigator.clipboard) {
    await navigator.clipboard.writeText(field.value);
    return;
  }
  field.select();
  document.execCommand("copy");
}

document.querySelectorAll("[data-copies]").forEach((button) => {
  button.addEventListener("click", async () => {
    await copyText(document.getElementById(button.dataset.copies));
    const state = document.getElementById("copied");
    state.textContent = state.dataset.said;
  });
});

// Code and tables that are too wide scroll, and what scrolls must be reachable with the keyboard.
function reach() {
  for (const box of document.querySelectorAll(".highlight pre, .table-wrapper")) {
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
  }
}
addEventListener("resize", reach);
reach();

// An open menu holds the keyboard: what it covers is inert, and Escape or a link closes it.
for (const [name, selector] of [["__navigation", ".sidebar-drawer"], ["__toc", ".toc-drawer"]]) {
  const box = document.getElementById(name);
  const menu = document.querySelector(selector);
  const buttons = [...document.querySelectorAll(`label[for="${name}"] [role="button"]`)];
  const visible = (element) => element.offsetParent;
  const close = () => { if (box.checked) box.click(); };
  box.addEventListener("change", () => {
    const others = ".skip-to-content, .mobile-header, .content, .sidebar-drawer, .toc-drawer";
    for (const other of document.querySelectorAll(others)) other.inert = box.checked && other !== menu;
    for (const button of buttons) button.ariaExpanded = box.checked;
    (box.checked ? [...menu.querySelectorAll("a")] : buttons).find(visible)?.focus();
  });
  for (const button of buttons) {
    button.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      button.click();
    });
  }
  menu.addEventListener("click", (event) => { if (event.target.closest("a")) close(); });
  addEventListener("keydown", (event) => { if (event.key === "Escape") close(); });
}

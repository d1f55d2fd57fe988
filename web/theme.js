/* theme - sets the chosen theme before the first paint. Not a module: modules run after it. */
(function () {
	var theme = localStorage.getItem("rocewatch-theme");
	if (theme === "dark" || theme === "light")
		document.documentElement.dataset.theme = theme;
})();

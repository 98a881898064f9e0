// Exploration of the charts: values under the pointer and the arrow keys. Everything can be
// read without it.
(function () {
  "use strict";
  var SVG = "http://www.w3.org/2000/svg";
  var timelines = [];

  function make(name, className, text) {
    var element = document.createElement(name);
    if (className) element.className = className;
    if (text !== undefined) element.textContent = text;
    return element;
  }

  function tipFor(plot) {
    var tip = make("div", "tip");
    tip.setAttribute("aria-hidden", "true");
    plot.appendChild(tip);
    return {
      element: tip,
      // Beside a point of the window, within the plot.
      at: function (x, y) {
        var box = plot.getBoundingClientRect();
        var left = x - box.left + plot.scrollLeft + 14;
        if (x - box.left + 14 + tip.offsetWidth > box.width) left -= tip.offsetWidth + 28;
        var least = plot.scrollLeft, most = plot.scrollLeft + box.width - tip.offsetWidth;
        tip.style.left = Math.max(least, Math.min(left, most)) + "px";
        tip.style.top = Math.max(0, Math.min(y - box.top, box.height - tip.offsetHeight)) + "px";
        tip.classList.add("shown");
      },
      hide: function () { tip.classList.remove("shown"); }
    };
  }

  function nameSvg(svg) {
    var title = svg.querySelector(":scope > title");
    var name = title ? title.textContent : "";
    if (title) {
      // The browser's own tooltip would lie over ours.
      svg.setAttribute("aria-label", name);
      svg.removeAttribute("aria-labelledby");
      var desc = svg.querySelector(":scope > desc");
      if (desc) svg.setAttribute("aria-describedby", desc.id);
      title.remove();
    }
    return name;
  }

  function keyboard(plot, name, length, go, leave) {
    var at = -1;
    plot.tabIndex = 0;
    plot.setAttribute("role", "application");
    plot.setAttribute("aria-roledescription", "chart");
    plot.setAttribute("aria-label", name + ". Arrow keys read the values.");
    plot.addEventListener("keydown", function (event) {
      if (event.target !== plot || event.ctrlKey || event.metaKey || event.altKey) return;
      var page = Math.max(1, Math.round(length / 10));
      var step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, PageDown: page, PageUp: -page }[event.key];
      if (event.key === "Home") at = 0;
      else if (event.key === "End") at = length - 1;
      else if (event.key === "Escape") { leave(); return; }
      else if (step) at = Math.max(0, Math.min(length - 1, at + step));
      else return;
      event.preventDefault();
      go(at);
    });
    plot.addEventListener("blur", leave);
    return { from: function (index) { at = index; } };
  }

  function exploreLines(plot) {
    var svg = plot.querySelector("svg");
    var data = JSON.parse(plot.querySelector("script").textContent);
    var readout = plot.parentNode.querySelector(".readout");
    var cross = svg.querySelector(".cross");
    var tip = tipFor(plot);
    var name = nameSvg(svg);
    if (!data.x.length) return;
    var dots = data.lines.map(function (line) {
      var dot = document.createElementNS(SVG, "circle");
      dot.setAttribute("class", "dot " + line.class);
      dot.setAttribute("r", "4.5");
      svg.appendChild(dot);
      return dot;
    });

    function mark(index) {
      var x = data.x[index] * 100 + "%";
      cross.setAttribute("x1", x);
      cross.setAttribute("x2", x);
      plot.classList.add("exploring");
      data.lines.forEach(function (line, i) {
        var y = line.y[index];
        dots[i].style.visibility = y === null ? "hidden" : "visible";
        dots[i].setAttribute("cx", x);
        dots[i].setAttribute("cy", y === null ? 0 : y);
      });
    }
    function values(index) {
      return data.lines.map(function (line) {
        var text = line.text[index];
        return [line.name, text === null ? "–" : text];
      });
    }
    function show(index, y) {
      mark(index);
      timelines.forEach(function (other) {
        if (other.plot !== plot && other.length === data.x.length) other.mark(index);
      });
      tip.element.replaceChildren(make("b", "", data.label[index]));
      values(index).forEach(function (pair) {
        var row = make("span");
        row.append(make("i", "", pair[0]), make("i", "", pair[1]));
        tip.element.appendChild(row);
      });
      var box = svg.getBoundingClientRect();
      tip.at(box.left + data.x[index] * box.width, y === undefined ? box.top + 24 : y);
    }
    function unmark() {
      plot.classList.remove("exploring");
      dots.forEach(function (dot) { dot.style.visibility = "hidden"; });
    }
    function hide() {
      tip.hide();
      timelines.forEach(function (each) { each.unmark(); });
    }
    timelines.push({ plot: plot, length: data.x.length, mark: mark, unmark: unmark });

    var keys = keyboard(plot, name, data.x.length, function (index) {
      show(index);
      readout.textContent = data.label[index] + ": " + values(index).map(function (pair) {
        return pair[0] + " " + pair[1];
      }).join(", ");
    }, hide);
    function follow(event) {
      var box = svg.getBoundingClientRect();
      var wish = (event.clientX - box.left) / box.width;
      var low = 0, high = data.x.length - 1;
      while (low < high) {
        var middle = (low + high) >> 1;
        if (data.x[middle] < wish) low = middle + 1; else high = middle;
      }
      if (low > 0 && wish - data.x[low - 1] < data.x[low] - wish) low -= 1;
      keys.from(low);
      show(low, event.clientY);
    }
    plot.addEventListener("pointermove", follow);
    plot.addEventListener("pointerdown", follow);
    plot.addEventListener("pointerleave", hide);
  }

  function exploreMarks(plot) {
    var svg = plot.querySelector("svg");
    var readout = plot.parentNode.querySelector(".readout");
    var tip = tipFor(plot);
    var name = nameSvg(svg);
    var current = null;
    var marks = [];
    function hide() {
      tip.hide();
      if (current) current.classList.remove("current");
      current = null;
    }
    function show(mark, x, y) {
      hide();
      current = mark.element;
      current.classList.add("current");
      tip.element.textContent = mark.text;
      tip.at(x, y);
    }
    svg.querySelectorAll("title").forEach(function (title) {
      var mark = { element: title.parentNode, text: title.textContent };
      title.remove();
      mark.element.setAttribute("aria-label", mark.text);
      mark.element.addEventListener("pointermove", function (event) {
        show(mark, event.clientX, event.clientY + 12);
      });
      mark.element.addEventListener("pointerleave", hide);
      marks.push(mark);
    });
    if (!marks.length) return;
    keyboard(plot, name, marks.length, function (index) {
      var mark = marks[index];
      var box = mark.element.getBoundingClientRect();
      if (plot.scrollWidth > plot.clientWidth) {
        var outer = plot.getBoundingClientRect();
        plot.scrollLeft += box.left + box.width / 2 - outer.left - outer.width / 2;
        box = mark.element.getBoundingClientRect();
      }
      show(mark, box.left + box.width / 2, box.top + box.height / 2);
      readout.textContent = mark.text;
    }, hide);
  }

  function copyButtons() {
    if (!navigator.clipboard) return;
    document.querySelectorAll(".copy").forEach(function (place) {
      var code = place.querySelector("code");
      var button = make("button", "", "Copy");
      button.type = "button";
      button.setAttribute("aria-label", "Copy " + code.textContent);
      button.addEventListener("click", function () {
        navigator.clipboard.writeText(code.textContent).then(function () {
          button.textContent = "Copied";
          setTimeout(function () { button.textContent = "Copy"; }, 1500);
        }, function () { button.textContent = "Select and copy"; });
      });
      place.appendChild(button);
    });
  }

  document.querySelectorAll("[data-explore=line]").forEach(exploreLines);
  document.querySelectorAll("[data-explore=marks]").forEach(exploreMarks);
  copyButtons();
  document.documentElement.setAttribute("data-damper", "ready");
})();
